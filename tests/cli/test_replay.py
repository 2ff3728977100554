"""`rankscope replay`: documents, reports and exit codes."""

import json
from pathlib import Path

import pandas as pd
import pytest

from rankscope.cli.main import main

RECORDING = Path(__file__).parents[1] / "fixtures" / "cpu_contention.otlp.jsonl.gz"


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
    (tmp_path / "quiet.jsonl").write_text('{"resourceMetrics": []}\n')
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


def test_a_mistake_in_the_settings_is_exit_2(tmp_path, capsys):
    (tmp_path / "settings.yaml").write_text("journl: {}\n")
    config = ["--config", str(tmp_path / "settings.yaml")]
    assert main(["replay", str(RECORDING), *config]) == 2
    assert "did you mean journal" in capsys.readouterr().err


def test_variables_of_the_agent_are_no_concern_of_a_replay(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKSCOPE_PUSH__ENDPOINT", "http://127.0.0.1:8470")
    (tmp_path / "quiet.jsonl").write_text("{}\n")
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
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert ("gone", None) == (row["kind"], row["new"])
    assert main(words) == 0
    assert "1 incidents before, 0 after, 1 differ" in capsys.readouterr().out


def test_equal_settings_differ_in_nothing(settings, capsys):
    same = settings("same.yaml", "{}\n")
    assert main(["replay", str(RECORDING), "--config", same, "--against", same, "--json"]) == 0
    assert "" == capsys.readouterr().out


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
        ("detectors: {parameters: {stragglers: {least: often}}}", "is a number"),
        ("detectors: {plugins: [mine]}", "no installed package offers the detector 'mine'"),
    ],
)
def test_a_mistake_in_the_detectors_settings_names_it(settings, capsys, text, hint):
    assert main(["replay", str(RECORDING), "--config", settings("bad.yaml", text)]) == 2
    assert hint in capsys.readouterr().err
