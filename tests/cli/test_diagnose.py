"""`rankscope diagnose`: a report for people, a document for programs, errors that say what."""

import json
import os

import pytest
from tests.formats.flight_recorder.recorder import dump, operation

from rankscope.cli.main import main


@pytest.fixture
def folder(tmp_path):
    """Return the dumps of four ranks: rank 2 never entered the collective of its peers."""
    for rank in range(4):
        behind = rank == 2
        body = dump(7, 7) if behind else dump(8, 7, [operation(8)])
        (tmp_path / f"trace_rank_{rank}").write_bytes(body)
        os.utime(tmp_path / f"trace_rank_{rank}", (1120, 1120))
    (tmp_path / "notes.txt").write_text("it hung again\n")
    return tmp_path


def test_people_read_who_stopped_and_what_was_read(folder, capsys):
    assert 0 == main(["diagnose", str(folder)])
    printed = capsys.readouterr().out
    assert "software.stuck_process       rank 2" in printed
    assert "it stopped in the process" in " ".join(printed.split())
    assert "Read 4 files, 1 not:" in printed
    assert "notes.txt" in printed


def test_programs_get_the_incident_document(folder, capsys, valid_incident):
    assert 0 == main(["diagnose", "--json", "--job", "llm", str(folder)])
    document = json.loads(capsys.readouterr().out)
    valid_incident(document)
    assert "llm" == document["job"]
    assert "Flight Recorder dump of rank 0" == document["leftovers"]["read"]["trace_rank_0"]


def test_the_same_folder_gives_the_same_document(folder, capsys):
    printed = []
    for _ in range(2):
        assert 0 == main(["diagnose", "--json", str(folder)])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent", "no such file or folder"), ("notes.txt", "nothing in it can be read")],
)
def test_what_holds_nothing_to_read_is_said_with_its_name(folder, capsys, name, message):
    assert 1 == main(["diagnose", str(folder / name)])
    printed = capsys.readouterr().err
    assert message in printed
    assert name in printed


def test_a_folder_without_a_fault_says_what_was_read(folder, capsys):
    for rank in range(4):
        (folder / f"trace_rank_{rank}").write_bytes(dump(8, 8))
    assert 1 == main(["diagnose", str(folder)])
    printed = capsys.readouterr().err
    assert "no fault shows in the 4 files that could be read" in printed
    assert "not read: notes.txt" in printed


def test_where_a_training_that_is_not_done_ends_is_told_and_is_no_fault(
    tmp_path, capsys, valid_incident
):
    steps = "".join(f"step {n} loss {3 - n / 100:.3f} grad_norm 0.5\n" for n in range(1, 9))
    (tmp_path / "job.log").write_text(steps + "validation starts\n")
    assert 1 == main(["diagnose", "--json", str(tmp_path)])
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    valid_incident(document)
    assert "info" == document["severity"]
    assert "validation starts" == document["leftovers"]["lines"][0]["text"]
    assert "no fault shows" in printed.err
    assert "the log ends here: job.log:9: [confirmation] validation starts" in printed.err
