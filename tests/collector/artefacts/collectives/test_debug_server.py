"""What torch's debug server left of a job that stands: its page, its stacks, or both."""

from datetime import UTC

import pytest
from tests.formats.flight_recorder.recorder import fields, operation
from tests.formats.flight_recorder.test_debug_server import PARTIAL, STACKS, page

BEGAN = 1000.0
STANDING = [fields(8, 7, [operation(8)]), fields(8, 7, [operation(8)]), fields(7, 7),
            fields(8, 7, [operation(8)])]  # fmt: skip


@pytest.fixture
def left(explain, tmp_path, written):
    """Return a function that diagnoses files of these names and texts."""

    def run(**files):
        for name, text in files.items():
            (tmp_path / f"{name}.txt").write_text(text)
        written(tmp_path, BEGAN + 120)
        return explain(tmp_path)

    return run


def test_the_rank_that_a_page_shows_behind_is_named(left):
    diagnosis = left(page=page(*STANDING))
    assert (
        "Flight Recorders of 4 ranks, by torch's debug server" == diagnosis.found.read["page.txt"]
    )
    assert [2] == diagnosis.incident["root_cause"]["hypotheses"][0]["entity"]["ranks"]


def test_stacks_are_those_of_the_thread_that_began_the_process(left):
    found = left(page=page(*STANDING), stacks=STACKS).found
    stacks = {e.attributes["rank"]: e.attributes["text"] for e in found.events
              if e.name == "process.stack"}  # fmt: skip
    assert stacks[1].splitlines()[-1] == "stuck (train.py:3)"
    assert stacks[0].splitlines()[-1] == "all_reduce (distributed_c10d.py:3252)"


def test_a_rank_that_did_not_answer_the_server_is_quoted(left):
    diagnosis = left(stacks=PARTIAL)
    assert (
        "stacks of 2 ranks, by torch's debug server, 1 did not answer"
        == (diagnosis.found.read["stacks.txt"])
    )
    (quote,) = diagnosis.found.quotes
    assert (1, "root") == (quote.rank, quote.role)
    assert "Read timed out." in quote.text


def test_the_time_of_stacks_is_that_of_their_name(explain, tmp_path):
    (tmp_path / "stacks_20260513_120000.txt").write_text(STACKS)
    (event, _) = explain(tmp_path, zone=UTC).found.events
    assert 1778673600.0 == event.at


FIRST, SECOND = "stacks_20260513_120000", "stacks_20260513_120005"
STEPPED = "[rank0]:2026-05-13 12:00:0{},000 - root - INFO - step: {}  loss:  2.1\n"


def first(diagnosis):
    cause = diagnosis.incident["root_cause"]["hypotheses"][0]
    return cause["fault"], cause["entity"]["ranks"]


def test_the_rank_that_two_dumps_of_stacks_show_elsewhere_is_stuck(left):
    assert ("software.stuck_process", [1]) == first(left(**{FIRST: STACKS, SECOND: STACKS}))


@pytest.mark.parametrize(
    "files",
    [
        {FIRST: STACKS},
        {FIRST: STACKS, SECOND: STACKS.replace('train.py", line 3', 'train.py", line 9')},
        {FIRST: STACKS, SECOND: STACKS, "job": "".join(STEPPED.format(n, n) for n in range(9))},
        {FIRST: STACKS, SECOND: STACKS, "job": "iter 1: loss 0.5, time 300.0ms\n" * 9},
    ],
    ids=["one dump", "stacks that move", "a step after the first", "steps of an unknown time"],
)
def test_stacks_of_a_job_that_may_be_at_work_accuse_nobody(left, files):
    assert left(**files).incident is None
