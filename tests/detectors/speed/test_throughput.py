"""The speed that a log of samples a second shows, where it shows nothing else of its steps."""

from typing import cast

import numpy as np
import pytest

from rankscope.detectors import compute_time
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.throughput import THROUGHPUT, ThroughputDetector


def speed(steps, *runs, usual=350.0):
    """Draw samples a second with some per cent of noise; runs: first, end, speed."""
    rate = np.random.default_rng(5).normal(usual, usual / 50, (1, steps))
    for first, end, value in runs:
        rate[:, first:end] = value
    return rate


def found(rate, *, over=START, timed=False, of=0):
    window = sketch(np.ones(rate.shape), planes={THROUGHPUT[of]: rate})
    if not timed:
        cast("dict[str, object]", window.steps.planes).pop(compute_time.STEP)
    return [finding.text for finding in ThroughputDetector(over=over).evaluate(window)]


@pytest.mark.parametrize("of", [0, 1])
def test_a_speed_that_falls_and_stays_low_is_told_with_its_step(of):
    (text,) = found(speed(40, (25, 40, 40.0)), of=of)
    assert text.startswith("throughput is 40 a second instead of 349")
    assert text.endswith("from step 25 on")


def test_a_deep_fall_to_the_end_is_told_by_few_reports():
    (text,) = found(speed(8, (5, 6, 150.0), (6, 8, 40.0)))
    assert text.endswith("from step 5 on")


def test_one_that_comes_back_is_told_with_its_end():
    (text,) = found(speed(40, (10, 25, 100.0)))
    assert text.endswith("from step 10 to step 24")


@pytest.mark.parametrize("rate", [
    speed(40),
    speed(40, (0, 1, 20.0)),  # warming up
    speed(40, *((at, at + 1, 40.0) for at in range(8, 40, 8))),  # every eighth: a pause
    speed(9, (7, 9, 40.0)),  # too few
    speed(9, (5, 8, 40.0)),  # few, and then it is as before
    speed(9, (5, 9, 150.0)),  # few, and not so deep
    np.random.default_rng(1).choice([90.0, 350.0], (1, 60)),  # batches of two sizes
], ids=["steady", "first", "pauses", "few", "few within", "few and not deep",
        "two sizes"])  # fmt: skip
def test_what_is_usual_for_a_loop_is_no_fall(rate):
    assert [] == found(rate)


def test_nothing_is_said_of_a_job_that_goes_on_or_tells_how_long_its_steps_take():
    rate = speed(40, (25, 40, 40.0))
    assert [] == found(rate, over=START + 1e6)
    assert [] == found(rate, timed=True)
