"""A job whose only reporter says how much of each step was wait for data."""

import numpy as np
import pytest

from rankscope.detectors.compute_time import STEP
from rankscope.detectors.features import DATA
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.data_wait import DataWaitDetector


def evaluated(waits, nth=1, **parameters):
    """Evaluate reports of waits, each nth step; steps take 0.5 s more."""
    count = len(waits) * nth
    wait, took = np.full((1, count), np.nan), np.full((1, count), np.nan)
    wait[0, ::nth] = waits
    took[0, ::nth] = wait[0, ::nth] + 0.5
    usual = 0.5 + float(np.median(waits))
    own = np.full((1, count), usual)
    window = sketch(own, hosts=1, planes={DATA: wait, STEP: took})
    found = DataWaitDetector(**parameters).evaluate(window)
    return [finding.kind for finding in found]


STARVES = ["job.slow", "job.data_wait", "job.data_lost"]


@pytest.mark.parametrize(("count", "nth"), [(60, 1), (8, 50), (6, 10)])
def test_a_job_that_mostly_waits_for_data_from_its_start_on_is_found(count, nth):
    assert STARVES == evaluated(np.full(count, 3.0), nth)


@pytest.mark.parametrize("waits", [
    np.full(60, 0.05),
    np.full(60, 0.4),
    np.r_[np.full(4, 20.0), np.full(56, 0.05)],
    20.0 / np.arange(1, 9),  # the mean since the start, of a slow first batch
    np.where(np.arange(60) % 8 == 0, 3.0, 0.0),
    np.full(4, 3.0),
])  # fmt: skip
def test_what_is_not_most_of_most_steps_is_quiet(waits):
    assert [] == evaluated(waits, 10)


def test_too_few_steps_are_quiet():
    assert [] == evaluated(np.full(12, 3.0))


IN_TURN = np.r_[np.full(6, 0.001), np.tile([0.001, 0.001, 0.001, 31.0], 3)]


def test_few_waits_for_workers_in_turn_are_found_once_the_job_is_over():
    assert [] == evaluated(IN_TURN)
    assert STARVES == evaluated(IN_TURN, over_at=0.0)


@pytest.mark.parametrize("waits", [IN_TURN[:-4], np.where(IN_TURN > 1, 4.0, IN_TURN),
                                   np.r_[IN_TURN, np.full(12, 0.001)]])  # fmt: skip
def test_two_waits_short_ones_and_past_ones_are_none(waits):
    assert [] == evaluated(waits, over_at=0.0)
