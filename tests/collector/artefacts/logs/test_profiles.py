"""Profiles that people paste: which say that a training loses its time, and in what."""

import pytest
from tests.collector.artefacts.test_always_an_answer import said
from tests.formats.profiles.test_profiler_tables import LOADER, MATMUL, table

from rankscope.collector.artefacts.logs import profiles
from rankscope.vocabulary.log_lines import COMPILES_OFTEN, DATA_WAITS, DEVICES_IDLE

BUSY = ("Self CPU time total: 89.2s", "Self CUDA time total: 71.3s")


def signatures(lines):
    found = profiles.read(lines)
    return None if found is None else [one.signature for one in found]


def xla(graphs, compiled, runs, executed, rate="910ms"):
    return (
        f"Metric: CompileTime\n  TotalSamples: {graphs}\n  Accumulator: {compiled}\n"
        f"Metric: ExecuteTime\n  TotalSamples: {runs}\n  Accumulator: {executed}\n"
        f"  ValueRate: {rate} / second\nCounter: aten::nonzero\n  Value: 7\n"
    ).splitlines()


def test_a_loop_that_waits_for_its_loader_most_of_the_time_is_told():
    (found,) = profiles.read(table(LOADER, MATMUL)) or []
    assert (5, DATA_WAITS) == (found.line, found.signature)
    assert found.text.startswith("89% of the host's time in a profile is a wait for the loader; de")


@pytest.mark.parametrize(
    "lines",
    [
        table(LOADER, MATMUL, totals=BUSY),
        table((*LOADER[:-1], "2"), MATMUL, totals=BUSY[:1]),
        table((*LOADER[:4], "3.1s", *LOADER[5:]), MATMUL, totals=BUSY[:1]),
        table(LOADER, MATMUL, totals=[]),
        xla(4, "4s589ms", 1121, "3m04s242ms"),
        xla(24, "7s501ms", 1752, "7m04s"),
        xla(9, "45s226ms", 42, "3s"),
        [*xla(60, "4m", 100, "9s"), *xla(60, "4m", 1100, "99s")],
    ],
    ids=[
        "devices have their batches", "few batches", "little", "no total", "few graphs",
        "graphs that are quick", "a start", "none any more",
    ],
)  # fmt: skip
def test_a_profile_that_shows_nothing_wrong_says_nothing(lines):
    assert [] == signatures(lines)


def test_a_compiler_that_runs_for_longer_than_its_programs_is_told_with_what_runs_on_the_host():
    (found,) = profiles.read(xla(66, "3m58s", 558, "15s")) or []
    assert COMPILES_OFTEN == found.signature
    assert "66 graphs were compiled in 238 s for 558 runs of 15 s" in found.text
    assert found.text.endswith("on the host ran aten::nonzero 7 times")


def test_between_two_reports_few_graphs_are_enough():
    lines = [*xla(9, "40s", 30, "3s"), *xla(14, "62s", 50, "5s")]
    assert [COMPILES_OFTEN] == signatures(lines)


def test_devices_that_hardly_work_are_told():
    assert [DEVICES_IDLE] == signatures(xla(4, "4s589ms", 1121, "3m04s", rate="076ms890.245us"))
    assert [DEVICES_IDLE] == signatures(table(MATMUL))


def test_a_log_without_a_profile_has_none():
    assert signatures(["step 1 loss 2.0", "Metric: CompileTime is not shown"]) is None


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (table(LOADER, MATMUL), "software.dataloader_slow"),
        (xla(66, "3m58s", 558, "15s"), "software.recompile"),
        (xla(4, "4s589ms", 1121, "3m04s", rate="076ms"), "efficiency.low_utilization"),
    ],
)
def test_what_a_profile_says_is_an_incident_of_its_own_cause(explain, tmp_path, lines, fault):
    (tmp_path / "profile.txt").write_text("\n".join(lines))
    assert fault == said(explain(tmp_path))[0]


def test_a_profile_that_says_nothing_is_read_all_the_same(explain, tmp_path):
    (tmp_path / "profile.txt").write_text("\n".join(xla(4, "4s589ms", 1121, "3m04s")))
    diagnosis = explain(tmp_path)
    assert diagnosis.document() is None
    assert {"profile.txt": "profile of a training"} == diagnosis.found.read
