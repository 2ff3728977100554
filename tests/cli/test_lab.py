"""`rankscope lab`: lists scenarios, records them, names the scenario that is unknown."""

import json

from rankscope.cli.main import main
from rankscope.lab.simulator import scenarios


def test_list_names_every_scenario(capsys):
    assert main(["lab", "list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["name"] for row in rows] == list(scenarios.catalogue())


def test_run_records_and_prints_the_truth(tmp_path, capsys):
    out = tmp_path / "crash.jsonl"
    assert main(["lab", "run", "crash", "--out", str(out), "--seed", "4", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["truth"]["fault"] == "software.crash"
    assert result["truth"]["onset"] == "2026-03-02T08:01:20.000Z"
    assert all(json.loads(line) for line in out.read_text().splitlines())


def test_run_says_that_nothing_is_wrong_where_nothing_is(tmp_path, capsys):
    assert main(["lab", "run", "quiet", "--out", str(tmp_path / "q.jsonl.gz")]) == 0
    assert "truth: nothing is wrong" in capsys.readouterr().out


def test_an_unknown_scenario_is_wrong_use_and_gets_the_nearest(tmp_path, capsys):
    assert main(["lab", "run", "crsh", "--out", str(tmp_path / "x.jsonl")]) == 2
    assert "did you mean crash?" in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    out = tmp_path / "nowhere" / "x.jsonl"
    assert main(["lab", "run", "crash", "--out", str(out)]) == 1
    assert str(out) in capsys.readouterr().err
