"""Workers of real jobs: those that turned slow, and those that are only unlike."""

import csv
import gzip

import numpy as np
import pytest

from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector
from rankscope.detectors.window import StepValues

DURATION = "training.step.duration"


@pytest.mark.parametrize("synchronous", [True, False])
def test_a_real_job_with_a_stable_skew_has_no_straggler(real_data, synchronous):
    """Ten workers, one of them 30 % slower than another for as long as the job runs."""
    own = _worker_steps(real_data("worker_steps/job_2_norm.csv.gz"))
    for end in range(15, own.shape[1] + 1, 5):
        assert [] == StragglersDetector().evaluate(_as_reported(own[:, :end], synchronous))


@pytest.mark.parametrize("synchronous", [True, False])
def test_in_a_real_job_the_workers_that_turn_slow_are_named_and_no_others(
    real_data, named, synchronous
):
    own = _worker_steps(real_data("worker_steps/job_3_norm.csv.gz"))
    ever: set[str] = set()
    for end in range(15, own.shape[1] + 1, 5):
        found = StragglersDetector().evaluate(_as_reported(own[:, :end], synchronous))
        ever |= set(named(found, "rank.slow_compute"))
    assert {"6", "7", "8", "9"} == ever


def _as_reported(own, synchronous):
    """Return the workers as ranks that wait for each other, or with nothing but step durations."""
    window = sketch(own, hosts=10)
    if synchronous:
        return window
    steps = StepValues(window.steps.index, window.steps.at, {DURATION: own})
    return sketch(own, hosts=10, steps=steps)


def _worker_steps(path):
    """Return [workers, steps], seconds a mini-batch; NaN where a worker reported none."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    steps = {step: column for column, step in enumerate(sorted({int(row["time"]) for row in rows}))}
    own = np.full((10, len(steps)), np.nan)
    for row in rows:
        own[int(row["worker"]), steps[int(row["time"])]] = float(row["batch_time_norm"]) / 1_000
    return own
