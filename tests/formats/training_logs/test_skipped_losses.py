"""Updates that are skipped for their loss: several in a row are told, one now and then is not."""

import pytest

from rankscope.formats import training_logs
from rankscope.vocabulary.log_lines import LOSS_SKIPPED

SKIPPED = {
    "deepspeech.pytorch": "WARNING: received an inf loss",
    "set to zero": "WARNING: received a nan loss, setting loss value to 0",
    "federatedscope": "WARNING: Skip the batch due to the loss is NaN, maybe by invalid labels",
    "behind": "Loss is nan, skipping this batch",
    "in front": "skipping a NaN loss",
    "of a rank": "[rank0]: NaN loss at iteration 7: skipped",
}


def step(number):
    return f"Epoch: [2][{number}/900]  Time 0.611 (0.664)  Data 0.001 (0.002)  Loss 0.5000 (0.7)"


def told(*lines):
    return [
        (line.line, event.attributes["count"])
        for line in training_logs.read(lines, default_at=1_787_000_000.0)
        for event in line.events
        if event.attributes.get("signature") == LOSS_SKIPPED
    ]


@pytest.mark.parametrize("line", SKIPPED.values(), ids=SKIPPED)
def test_updates_that_are_skipped_one_after_the_other_are_told_as_they_double(line):
    lines = [one for number in range(1, 8) for one in (line, step(number))]
    assert [(7, 3), (13, 6)] == told(*lines)  # the first step is one once the next bears it out
    assert [(8, 3), (14, 6)] == told(step(-1).replace("-1", "0"), *lines)


@pytest.mark.parametrize("line", SKIPPED.values(), ids=SKIPPED)
def test_one_now_and_then_is_the_life_of_a_loop_that_skips_it(line):
    lines = [step(number) for number in range(1, 40)]
    for place in (30, 20, 19, 5):
        lines.insert(place, line)
    assert [] == told(*lines)


def test_steps_that_are_reported_now_and_then_do_not_tell_that_those_between_were_skipped():
    line = SKIPPED["behind"]
    assert [] == told(*[one for number in range(100, 900, 100) for one in (line, step(number))])


def test_one_step_of_a_host_full_of_ranks_is_one_update():
    ranks = [f"[rank{rank}]: {SKIPPED['behind']}" for rank in range(8)]
    steps = [f"[rank{rank}]: step 4 loss 0.0 grad_norm 0.0" for rank in range(8)]
    assert [] == told(*ranks, *steps)


def test_a_loop_that_prints_no_step_it_skipped_is_told_after_more_than_any_host_has_ranks():
    assert [(48, 3), (96, 6)] == told(*[SKIPPED["in front"]] * 100)


@pytest.mark.parametrize("line", [
    "step 3 mean loss 0.5", "Loss is nan, stopping training", "skip_nan_loss: True",
    "the loss is infinitesimal, skipping the log line",
])  # fmt: skip
def test_other_words_are_none(line):
    assert [] == told(*[line] * 60)
