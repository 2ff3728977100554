"""`rankscope replay`: documents, reports and exit codes."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from rankscope.cli.main import main
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, TelemetryResource

RECORDING = Path(__file__).parents[1] / "fixtures" / "cpu_contention.otlp.jsonl.gz"
QUIET = (
    encode.metrics_json([(TelemetryResource(host="a"), [Sample("training.step", 1.0, 100.0)])])
    + "\n"
)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.delenv("RANKSCOPE_DATA_DIR", raising=False)


def test_documents_come_one_a_line_and_the_same_on_every_run(capsys):
    printed = []
    for _ in range(2):
        assert main(["replay", str(RECORDING), "--json"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    (document,) = [json.loads(line) for line in printed[0].splitlines()]
    assert document["schema_version"]


def test_without_json_people_get_a_report(capsys):
    assert main(["replay", str(RECORDING)]) == 0
    assert "host.cpu_contention" in capsys.readouterr().out


def test_a_quiet_recording_gives_no_document_and_exit_0(tmp_path, capsys):
    (tmp_path / "quiet.jsonl").write_text(QUIET)
    assert main(["replay", str(tmp_path), "--json"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "content"), [("missing.jsonl", None), ("bad.jsonl", "nonsense\n{}\n")]
)
def test_what_cannot_be_read_is_named_with_exit_1(tmp_path, capsys, name, content):
    if content is not None:
        (tmp_path / name).write_text(content)
    assert main(["replay", str(tmp_path / name)]) == 1
    assert name in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("empty.jsonl.gz", b""),
        ("empty.jsonl.gz", gzip.compress(b"", mtime=0)),
        ("blank.jsonl", b"\n\n"),
        ("traces.jsonl", b'{"resourceSpans": []}\n{}\n'),
        ("nothing.jsonl", b'{"resourceMetrics": []}\n'),
    ],
)
def test_a_recording_without_telemetry_is_no_healthy_one(tmp_path, capsys, name, content):
    (tmp_path / name).write_bytes(content)
    for path in (tmp_path, tmp_path / name):
        assert main(["replay", str(path)]) == 1
        said = capsys.readouterr()
        assert ("", f"rankscope replay: {path}: holds no telemetry") == (
            said.out,
            said.err.partition(": no sample")[0],
        )


def test_a_journal_without_telemetry_is_no_healthy_one(tmp_path, capsys):
    FileJournal(tmp_path / "journal", JournalSettings()).close()
    assert main(["replay", str(tmp_path)]) == 1
    assert "holds no telemetry" in capsys.readouterr().err


def test_of_a_compressed_file_that_is_cut_off_the_rest_is_missing_with_exit_1(tmp_path, capsys):
    packed = RECORDING.read_bytes()
    (tmp_path / "cut.jsonl.gz").write_bytes(packed[: len(packed) * 9 // 10])
    assert main(["replay", str(tmp_path / "cut.jsonl.gz")]) == 1
    said = capsys.readouterr()
    assert "cut.jsonl.gz: the compressed file is cut off after line" in said.err
    assert "host.cpu_contention" in said.out


def test_an_unfinished_last_line_is_left_out_with_exit_0(tmp_path, capsys):
    (tmp_path / "written.jsonl").write_text(QUIET + QUIET[:20])
    assert main(["replay", str(tmp_path / "written.jsonl")]) == 0
    assert "written.jsonl:2: the last line is cut off" in capsys.readouterr().err


def test_a_mistake_in_the_settings_is_exit_2(tmp_path, capsys):
    (tmp_path / "settings.yaml").write_text("journl: {}\n")
    config = ["--config", str(tmp_path / "settings.yaml")]
    assert main(["replay", str(RECORDING), *config]) == 2
    assert "did you mean journal" in capsys.readouterr().err


def test_variables_of_the_agent_are_no_concern_of_a_replay(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_PUSH__ENDPOINT", "http://127.0.0.1:8470")
    (tmp_path / "quiet.jsonl").write_text(QUIET)
    assert main(["replay", str(tmp_path)]) == 0


@pytest.fixture
def settings(tmp_path):
    """Return a function that writes a settings file."""

    def write(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def test_two_settings_are_compared_by_what_differs(settings, capsys):
    """The detectors of slowness are taken away: the incident of the recording is gone."""
    old = settings("old.yaml", "{}\n")
    new = settings("new.yaml", "detectors:\n  disabled: [stragglers, slow_steps]\n")
    words = ["replay", str(RECORDING), "--config", new, "--against", old]
    assert main([*words, "--json"]) == 0
    row, summary = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ("gone", None) == (row["kind"], row["new"])
    assert ("summary", 1) == (summary["kind"], summary["differ"])
    assert main(words) == 0
    assert "1 incidents before, 0 after, 1 differ" in capsys.readouterr().out


def test_of_an_incident_that_changes_each_field_is_shown_before_and_after(settings, capsys):
    """Without the detector of CPU time nobody says why the ranks of that host are slow."""
    at_once = "evaluation:\n  unnamed_minutes: 0\n"
    old = settings("old.yaml", at_once)
    new = settings("new.yaml", f"{at_once}detectors:\n  disabled: [cpu_time]\n")
    assert main(["replay", str(RECORDING), "--config", new, "--against", old]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("~ ")
    assert "    fault: host.cpu_contention -> unknown" in lines
    assert "    confidence: high -> low" in lines
    assert "1 incidents before, 1 after, 1 differ" == lines[-2]


def test_equal_settings_differ_in_nothing(settings, capsys):
    same = settings("same.yaml", "{}\n")
    words = ["replay", str(RECORDING), "--config", same, "--against", same]
    assert main([*words, "--json"]) == 0
    (summary,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ("summary", 1, 1, 0) == tuple(
        summary[name] for name in ("kind", "before", "after", "differ")
    )
    assert main(words) == 0
    counted, compared = capsys.readouterr().out.splitlines()
    assert "1 incidents before, 1 after, 0 differ" == counted
    assert compared.startswith("compared: jobs, severity, ")


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_findings_and_steps_come_as_a_table(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    assert main(["replay", str(RECORDING), "--frame", str(path)]) == 0
    table = pd.read_parquet(path) if ending == "parquet" else pd.read_csv(path)
    assert {"finding", "step"} == set(table["row"])
    slow = table[table["kind"] == "rank.slow_compute"]
    assert len(slow)
    steps = table[table["row"] == "step"]
    assert steps["step"].is_monotonic_increasing
    assert (steps["slowest_own_seconds"] >= steps["median_own_seconds"]).all()


def test_a_table_of_another_kind_is_refused_before_the_replay(tmp_path, capsys):
    assert main(["replay", str(RECORDING), "--frame", str(tmp_path / "out.xlsx")]) == 2
    assert "written as .parquet or .csv" in capsys.readouterr().err
    assert main(["replay", str(RECORDING), "--frame", str(tmp_path / "no" / "out.csv")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("detectors: {disabled: [straglers]}", "did you mean stragglers?"),
        ("detectors: {parameters: {stragglers: {leest: 1}}}", "did you mean least?"),
        ("detectors: {parameters: {stragglers: {least: often}}}", "must be a number, not text"),
        ("detectors: {plugins: [mine]}", "no installed package offers the detector 'mine'"),
    ],
)
def test_a_mistake_in_the_detectors_settings_names_it(settings, capsys, text, hint):
    assert main(["replay", str(RECORDING), "--config", settings("bad.yaml", text)]) == 2
    assert hint in capsys.readouterr().err
