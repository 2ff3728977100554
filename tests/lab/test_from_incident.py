"""From an incident of a collector to a case of the laboratory, and its score."""

import gzip
import json
import shutil

import pytest

from rankscope.cli.main import main
from rankscope.collector.store.store import IncidentDatabaseStore
from rankscope.lab import from_incident


@pytest.fixture
def taken(recorded, tmp_path, capsys):
    """Return a function that runs from-incident on the data folder, and its file."""

    def run(*words, name="case.jsonl.gz"):
        out = tmp_path / name
        given = ["--data", str(recorded.folder), "--out", str(out), *words]
        code = main(["lab", "from-incident", recorded.incident["id"], *given])
        assert 0 == code, capsys.readouterr().err
        return out

    return run


def test_it_writes_a_recording_and_what_people_said(taken, recorded, capsys):
    out = taken()
    with gzip.open(out, "rt") as lines:
        assert all(json.loads(line) for line in lines)
    truth = json.loads(from_incident.truth_file(out).read_text())
    cause = recorded.incident["root_cause"]["hypotheses"][0]
    assert (cause["fault"], cause["entity"]["id"]) == (truth["fault"], truth["entity"])
    assert "rankscope replay" in capsys.readouterr().out


def test_its_score_is_right_whether_anonymised_or_not(taken, tmp_path, capsys):
    taken()
    taken("--anonymise", name="other.jsonl")
    capsys.readouterr()
    assert 0 == main(["lab", "score", "--recordings", str(tmp_path), "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [("case.jsonl.gz", True, 1, True), ("other.jsonl", True, 1, True)] == [
        (row["recording"], row["right"], row["rank_of_the_fault"], row["right_entity"])
        for row in rows
    ]
    assert 0 == main(["lab", "score", "--recordings", str(tmp_path)])
    assert "first cause right: 2 of 2" in capsys.readouterr().out


def test_another_truth_makes_it_wrong(taken, tmp_path, capsys):
    out = taken()
    file = from_incident.truth_file(out)
    truth = json.loads(file.read_text())
    file.write_text(json.dumps({**truth, "fault": "network.cable_errors", "entity": None}))
    capsys.readouterr()
    assert 0 == main(["lab", "score", "--recordings", str(tmp_path), "--json"])
    row = json.loads(capsys.readouterr().out)
    assert (False, None) == (row["right"], row["rank_of_the_fault"])


def test_without_feedback_there_is_no_truth(recorded, tmp_path, capsys):
    folder = tmp_path / "data"
    shutil.copytree(recorded.folder, folder)
    database = IncidentDatabaseStore(f"sqlite:///{folder / 'rankscope.db'}")
    with database._database.write() as db:
        db.exec_driver_sql("DELETE FROM actions")
    database.close()
    out = tmp_path / "a.jsonl"
    words = ["lab", "from-incident", recorded.incident["id"], "--data", str(folder)]
    assert 0 == main([*words, "--out", str(out), "--json"])
    assert json.loads(capsys.readouterr().out)["truth"] is None
    assert 1 == main(["lab", "score", "--recordings", str(tmp_path)])
    assert "no recording with a truth file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--out", "a.txt"], 2, "ends in .jsonl"),
        (["--data", "x", "--url", "http://127.0.0.1:1"], 2, "either --data or --url"),
        (["--data", "/nowhere"], 1, "not the data folder of a collector"),
        (["--url", "http://127.0.0.1:1"], 1, "no collector answers"),
    ],
)
def test_what_cannot_be_done_is_said(words, code, expected, capsys):
    assert code == main(["lab", "from-incident", "abc", *words])
    assert expected in capsys.readouterr().err


def test_an_incident_that_is_not_there_is_named(recorded, tmp_path, capsys):
    words = ["--data", str(recorded.folder), "--out", str(tmp_path / "a.jsonl")]
    assert 1 == main(["lab", "from-incident", "nope", *words])
    assert "there is no incident 'nope'" in capsys.readouterr().err
