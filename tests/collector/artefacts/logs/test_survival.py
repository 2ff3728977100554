"""Errors in a log without times: those that training went on below, and those that ended it."""

from collections.abc import Mapping

import pytest

from rankscope.collector.artefacts.logs.survival import LogSurvival, PlacedEvent
from rankscope.collector.artefacts.walk import blocks
from rankscope.vocabulary.samples import Event, Sample

ERROR = "ValueError: bad sample 17\n"
STEP = "epoch {0} step {0} loss 2.5\n"
NOISE = "a line that says nothing\n"
ROOT: Mapping[str, str | int] = {"role": "root", "signature": "python.exception", "rank": 0}


@pytest.fixture
def survived(tmp_path):
    """Return a function that tells which of the lines with an error were survived."""

    def told(text):
        path = tmp_path / "log"
        path.write_text(text)
        survival = LogSurvival(path)
        events: list[PlacedEvent] = []
        for number, line in enumerate(text.splitlines(), 1):
            if line == ERROR.strip():
                event = Event("log.fault", 0.0, ROOT)
                survival.error(number, event, None)
                survival.event(number, event, len(events))
                events.append((None, "", event))
        passed = survival.settle(events)
        roles = [event.attributes["role"] for _, _, event in events]
        assert roles.count("confirmation") == len(passed)
        return passed

    return told


@pytest.mark.parametrize("size", [50, 1 << 19])
def test_an_error_below_which_steps_follow_was_survived_and_the_last_was_not(
    survived, monkeypatch, size
):
    monkeypatch.setattr(blocks, "_BLOCK", size)
    steps = "".join(STEP.format(number) for number in range(1, 9))
    text = NOISE * 30 + ERROR + steps + NOISE * 30 + ERROR + NOISE * 3
    assert {31} == survived(text)


def test_two_lines_of_steps_below_it_are_those_that_others_still_printed(survived):
    assert set() == survived(ERROR + STEP.format(1) + STEP.format(2) + NOISE)


def test_a_job_that_says_that_it_is_done_survived_all_above(survived):
    assert {1} == survived(ERROR + NOISE + "Training is complete\n" + NOISE)


@pytest.mark.parametrize("size", [40, 1 << 19])
def test_an_exception_that_python_ignores_is_harmless(survived, monkeypatch, size):
    monkeypatch.setattr(blocks, "_BLOCK", size)
    head = "Exception ignored in: <function Pool.__del__ at 0x7f>\n"
    traceback = "Traceback (most recent call last):\n"
    assert {34} == survived(NOISE * 30 + head + "\n" + traceback + ERROR + NOISE)
    assert set() == survived(NOISE * 30 + traceback + ERROR + NOISE)


@pytest.mark.parametrize("below", [
    "".join(f"Epoch {n} (global_step {n}00) finished, time: 3 minutes\n" for n in (4, 5)),
    "".join(f"=> epoch {n}: train cost 2.{n}, 31 s\n" for n in (4, 5, 6)),
    "".join(f"round {n} took 12 s\n" for n in (1, 2, 3)),
], ids=["epochs that end", "rows of epochs", "rounds"])  # fmt: skip
def test_rows_of_any_form_below_an_error_show_that_it_was_survived(survived, below):
    assert {2} == survived(NOISE + ERROR + NOISE + below + NOISE)


@pytest.mark.parametrize("below", [
    "Epoch 4 (global_step 400) finished, time: 3 minutes\n" * 8,
    "=> epoch 4: train cost 2.4, 31 s\n" * 8,
    "Start Epoch 5 ...\nStart Epoch 6 ...\n",
], ids=["one epoch of all ranks", "one row of all ranks", "what only begins"])  # fmt: skip
def test_one_row_that_every_rank_still_prints_does_not(survived, below):
    assert set() == survived(NOISE + ERROR + below)


def test_a_rank_without_lines_of_its_own_survived_where_others_step_on_for_long(tmp_path):
    path = tmp_path / "log"
    path.write_text(ERROR + STEP.format(1) * 200)
    for steps, passed in ((100, set()), (200, {1})):
        survival = LogSurvival(path)
        survival.error(1, Event("log.fault", 0.0, {**ROOT, "rank": 3}), 3)
        for number in range(steps):
            survival.value(2 + number, Sample("training.loss", 2.5, 0.0), 0)
        assert passed == survival.settle([])


def test_what_nccl_could_not_set_up_was_done_without_where_steps_follow(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(map(STEP.format, range(9))))
    survival = LogSurvival(path)
    pairs = {"role": "cascade", "signature": "nccl.setup_failed"}
    event = Event("log.fault", 0.0, pairs)
    survival.error(1, event, None)
    survival.event(1, event, 0)
    for line in range(2, 9):
        survival.value(line, Sample("training.loss", 2.5, 0.0), 0)
    events: list[PlacedEvent] = [(None, "", event)]
    survival.settle(events)
    assert "confirmation" == events[0][2].attributes["role"]
