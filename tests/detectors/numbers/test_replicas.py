"""Values after a reduction: the same number everywhere, or replicas have parted."""

import numpy as np
import pytest

from rankscope.detectors.numbers.replicas import ReplicasDetector
from rankscope.detectors.sketch import sketch

LOSS, NORM = "training.loss|global", "training.grad_norm|global"


def shared(ranks=8, steps=120):
    """Return [ranks, steps] of one number a step."""
    return np.tile(np.random.default_rng(7).normal(2.0, 0.1, steps), (ranks, 1))


def found(values, plane=NORM):
    """Return what is found in a job with one plane."""
    return list(
        ReplicasDetector().evaluate(sketch(np.full(values.shape, 0.8), planes={plane: values}))
    )


@pytest.mark.parametrize("plane", [LOSS, NORM])
def test_the_minority_is_named(plane, named):
    values = shared()
    values[3, 100:] += np.linspace(0.01, 0.1, 20)
    findings = found(values, plane)
    assert ["3"] == named(findings, "rank.replica_differs")
    assert ["example"] == named(findings, "job.values_differ")


def test_two_replicas_that_part_name_nobody():
    values = shared(ranks=2)
    values[1, 90:] *= 1.02
    (symptom,) = found(values)
    assert "job.values_differ" == symptom.kind
    assert [] == list(symptom.ranks)


def test_local_values_under_the_wrong_name_are_quiet():
    assert [] == found(np.random.default_rng(7).normal(2.0, 0.1, (8, 120)))


@pytest.mark.parametrize("noise", [0.0005, 0.001, 0.002, 0.004])
@pytest.mark.parametrize("ranks", [3, 4, 5, 8])
def test_local_values_that_lie_close_name_nobody(ranks, noise):
    curve = 2.0 - 0.003 * np.arange(60)
    for seed in range(20):
        values = curve + np.random.default_rng(seed).normal(0.0, noise, (ranks, 60))
        for length in (12, 20, 60):
            assert [] == found(values[:, :length], LOSS)


def test_the_order_of_additions_and_a_single_step_are_quiet():
    values = shared() * (1 + 1e-6 * np.arange(8)[:, None])
    values[2, 60] = 5.0
    assert [] == found(values)


def test_one_rank_that_reports_for_all_is_quiet():
    values = shared()
    values[1:] = np.nan
    assert [] == found(values)
