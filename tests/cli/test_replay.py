"""`rankscope replay`: documents, reports and exit codes."""

import json
from pathlib import Path

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
