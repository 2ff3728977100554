"""Overflows that go on at the least loss scale, in the words of each scaler."""

import pytest

from rankscope.formats import training_logs
from rankscope.vocabulary.log_lines import SCALE_FLOOR

DEEPSPEED = (
    "[2025-06-07 22:01:00,018] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! "
    "Rank 0 Skipping step. Attempted loss scale: 4, reducing to {}"
)
MEGATRON = (
    " iteration       27/  250000 | consumed samples: 43408 | lm loss: 2.5 | loss scale: {} | grad "
    "norm: 1.2 | number of skipped iterations:   {} | number of nan iterations:   0 |"
)
FORMS = {
    "deepspeed": DEEPSPEED,
    "apex": "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}",
    "apex of BERT": "Rank 0 :: Gradient overflow.  Skipping step, reducing loss scale to {}",
    "fairseq": "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: {}",
    "old fairseq": "| WARNING: overflow detected, setting loss scale to: {}",
    "paddle": "Found inf or nan, current scale is: {}, decrease to: 1.0*0.5",
    "megatron": MEGATRON.replace("{} | number of nan", "1 | number of nan"),
    "mindspore": "step:[   27/ 1000], loss: 2.5, lr: 1e-05, overflow cond: True, loss_scale: {}",
}


def told(*lines):
    return [
        (line.line, event.attributes["count"], event.attributes["role"])
        for line in training_logs.read(lines, default_at=1_787_000_000.0)
        for event in line.events
        if event.attributes.get("signature") == SCALE_FLOOR
    ]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_overflows_at_the_least_scale_are_told_at_the_third_and_as_they_double(form):
    lines = [form.format(scale) for scale in ("4.0", "2.0", *["1.0"] * 12)]
    assert [(at, count, "confirmation") for at, count in ((5, 3), (8, 6), (14, 12))] == told(*lines)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_scale_above_one_is_normal_life_and_begins_anew(form):
    assert [] == told(*[form.format(2.0**power) for power in range(16, 0, -1)])
    assert [] == told(*[form.format(scale) for scale in (16.0, 8.0, 4.0, 2.0, 2.0, 1.0)])
    assert [] == told(*[form.format(scale) for scale in (1.0, 1.0, 8.0, 1.0, 1.0)])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_scale_that_fell_to_one_at_each_overflow_is_told_there(form):
    lines = [form.format(2.0**power) for power in (*range(6, -1, -1), 0, 0)]
    assert [(7, 1, "confirmation"), (9, 3, "confirmation")] == told(*lines)


def test_a_scale_that_goes_on_falling_is_told():
    assert told(*[FORMS["fairseq"].format(2.0**power) for power in range(3, -13, -1)])


UNNAMED = {
    "espnet": "(trainer:690) WARNING: The grad norm is nan. Skipping updating the model.",
    "wenet": "WARNING get infinite grad_norm, check your code/data if you get this often",
    "speechbrain": "WARNING - Loss is not finite",
}


@pytest.mark.parametrize("line", UNNAMED.values(), ids=UNNAMED)
def test_updates_that_are_skipped_more_often_than_a_scale_can_be_halved_are_told(line):
    assert [] == told(*[line] * 15)
    assert [(16, 1, "confirmation"), (18, 3, "confirmation")] == told(*[line] * 20)
    step = "1epoch:train:{0}-{0}batch: loss=1.0, optim0_lr0=1.250e-06, train_time=2.100"
    steps = [step.format(number) for number in range(1, 60)]
    assert [] == told(*[one for step in steps for one in (step, *[line] * 5)])


def test_an_update_that_is_not_skipped_is_no_overflow():
    assert [] == told(*[MEGATRON.format(1.0, 0)] * 12)
