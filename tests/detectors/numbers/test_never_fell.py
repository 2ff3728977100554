"""A loss that stays where it began, in the log of a job that is over."""

import math

import numpy as np
import pytest

from rankscope.detectors.numbers.never_fell import NeverFellDetector
from rankscope.detectors.sketch import sketch


def found(loss, *, over=0.0, first=0):
    window = sketch(
        np.full((1, len(loss)), 2.0), hosts=1, planes={"training.loss": loss[None]}, first=first
    )
    return [one.text for one in NeverFellDetector(over=over).evaluate(window)]


def noise(count, spread):
    return np.random.default_rng(5).normal(0.0, spread, count)


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_a_loss_at_the_guess_among_its_classes_never_fell(classes):
    (text,) = found(math.log(classes) + noise(40, 0.001))
    assert text.endswith("it never fell")


def test_one_value_in_all_lines_never_fell():
    assert 1 == len(found(np.full(25, 2.3026)))


def test_a_loss_that_has_become_one_number_is_told_from_there_on():
    loss = np.concatenate([np.linspace(2.9, 0.7, 8), np.full(22, 0.6931)])
    assert ["the loss is 0.693 from step 8 to step 29: it is the same at each"] == found(loss)
    assert not found(loss[:17])


@pytest.mark.parametrize(
    "loss",
    [
        2.3 - 0.001 * np.arange(40) + noise(40, 0.002),
        2.3 + noise(40, 0.05),
        np.full(9, 2.3026),
        np.concatenate([np.full(20, 2.303), np.linspace(2.3, 1.9, 20)]),
        np.full(40, np.nan),
    ],
    ids=["it falls slowly", "noise hides it", "too few", "it falls in the end", "no number"],
)
def test_another_loss_is_not_told(loss):
    assert [] == found(loss)


def test_a_loss_that_rests_over_four_times_as_many_steps_as_before_does_not_fall():
    (text,) = found(4.93 + noise(80, 0.04), first=20)
    assert text.endswith("from step 20 to step 99: it does not fall")


@pytest.mark.parametrize(
    ("loss", "first"),
    [
        (4.93 + noise(80, 0.04), 40),
        (4.93 + noise(80, 0.2), 20),
        (4.93 - 0.1 * np.log(np.arange(20, 100)) + noise(80, 0.04), 20),
        (4.93 + noise(19, 0.04), 4),
    ],
    ids=["less than four times", "noise hides it", "it falls", "too few"],
)
def test_a_loss_of_a_log_that_begins_later_may_have_fallen_before(loss, first):
    assert [] == found(loss, first=first)


def test_nothing_is_said_before_the_job_is_over():
    assert [] == found(np.full(40, 2.3), over=math.inf)


@pytest.mark.parametrize("value", [-6.43825e-20, 0.6931472, 1.0986])
def test_one_number_of_many_digits_in_ten_lines_is_told_wherever_the_log_begins(value):
    (text,) = found(np.full(10, value))
    assert text.endswith("it never fell")


@pytest.mark.parametrize("loss", [
    np.full(9, 0.6931472), np.full(15, 0.0), np.full(15, 0.125), np.full(15, 0.693),
    np.append(np.full(14, 0.6931472), 0.6931471),
], ids=["too few", "zero", "a round one", "few digits", "it moves"])  # fmt: skip
def test_a_number_that_may_repeat_by_itself_is_not_told(loss):
    assert [] == found(loss)
