"""Lines of launchers, each with what it reports; the table beside has them."""

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rankscope.formats.training_logs import launchers

EXAMPLES = tomllib.loads((Path(__file__).parent / "lines.toml").read_text())["example"]


def read(text):
    return list(launchers.read([text.strip("\n").encode()], zone=UTC))


def written(report):
    """Return a report as the table writes it."""
    tasks = ",".join(map(str, report.tasks)) or "-"
    code = "-" if report.code is None else report.code
    return f"{report.form.name} {tasks} {report.host or '-'} {code}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one["lines"].strip()[:60])
def test_a_line_reports_who_ended_how_and_where(example):
    assert example["reports"] == [written(report) for report in read(example["lines"])]


def test_every_form_has_an_example():
    shown = {report.split(maxsplit=1)[0] for one in EXAMPLES for report in one["reports"]}
    assert {form.name for form in launchers.catalogue()} == shown


def test_a_line_without_a_time_was_written_after_the_last_one_that_has_one():
    (report,) = read(
        "[2026-05-13 12:00:10] step 1\n[2026-05-13 12:00:20] step 2\nno time\n"
        "srun: error: n1: task 1: Killed"
    )
    assert (datetime(2026, 5, 13, 12, 0, 20, tzinfo=UTC).timestamp(), False, 4) == (
        report.at, report.dated, report.line,
    )  # fmt: skip


def test_a_time_inside_a_line_is_its_own():
    (report,) = read("*** JOB 13 ON n1 CANCELLED AT 2026-05-13T12:00:20 DUE TO TIME LIMIT ***")
    assert (datetime(2026, 5, 13, 12, 0, 20, tzinfo=UTC).timestamp(), True) == (
        report.at, report.dated,
    )  # fmt: skip


def test_a_list_of_tasks_without_end_is_cut():
    (report,) = read("srun: error: n1: tasks 0-9999999: Killed")
    assert 100_001 >= len(report.tasks)


def test_lines_that_belong_together_may_not_stand_far_apart():
    lines = ["=   PID 404 RUNNING AT vm", *["words"] * 20,
             "TERMINATED WITH THE EXIT STRING: Killed (signal 9)"]  # fmt: skip
    assert ["mpi.bad_termination"] == [report.form.name for report in read("\n".join(lines))]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_log_may_come_in_pieces_of_any_size(size):
    text = (
        b"[2026-05-13 12:00:20] step 2\nORTE has lost communication with a remote daemon.\n\n"
        b"  Remote daemon: [[64112,0],1] on node gpu-12\nsrun: error: n1: task 1: Killed\n"
    )
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    found = list(launchers.read(pieces, zone=UTC))
    assert ["mpi.daemon_lost", "mpi.node_lost", "slurm.task_ended"] == [o.form.name for o in found]
    assert [2, 4, 5] == [one.line for one in found]
    at = datetime(2026, 5, 13, 12, 0, 20, tzinfo=UTC).timestamp()
    assert {at} == {one.at for one in found}


def test_bytes_that_are_no_text_are_passed_over():
    noise = [bytes(range(256)) * 8, b"srun: error: \xff\xfe: task \x00: Killed\n", b""]
    assert [] == list(launchers.read(noise))
