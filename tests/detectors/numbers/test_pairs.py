"""Two ranks: the one that leaves its own past while the other's level goes on."""

import numpy as np
import pytest

from rankscope.detectors.numbers.peer_values import PeerValuesDetector
from rankscope.detectors.sketch import sketch

STEPS = 220


def found(values):
    """Return what is found in the local losses of a job, [ranks, steps]."""
    own = np.full(values.shape, 0.8)
    return list(PeerValuesDetector().evaluate(sketch(own, planes={"training.loss|local": values})))


def falling():
    return 2 + 6 * (1 + np.arange(STEPS) / 150) ** -0.5


@pytest.fixture
def batches():
    """Return a function that draws [2, steps] losses of one model that learns."""

    def draw(seed=7):
        random = np.random.default_rng(seed)
        return falling() * (1 + 0.02 * random.standard_normal((2, STEPS)))

    return draw


@pytest.mark.parametrize("factor", [0.4, 0.7, 1.5])
def test_one_of_two_that_left_its_own_past_for_long_is_named_and_pages_nobody(
    batches, named, factor
):
    loss = batches()
    loss[1, 120:] *= factor
    assert [] == found(loss[:, :170]), "it may be its batches"
    findings = found(loss)
    assert ["1"] == named(findings, "rank.value_offset")
    assert all(finding.score < 1 for finding in findings)


def test_the_offset_is_told_in_the_loss_own_unit(batches):
    loss = batches()
    loss[0, 120:] -= 2.0
    offset = found(loss)[-1]
    assert -2.0 == pytest.approx(offset.observed, abs=0.1)
    assert f"since step {120}" in offset.text


def test_two_that_jump_together_or_apart_accuse_nobody(batches):
    together, apart = batches(), batches()
    together[:, 120:] *= 1.8
    apart[:, 120:] *= [[1.3], [0.7]]
    assert [] == found(together) + found(apart)


def test_one_of_two_without_a_past_or_that_came_back_or_drifts_accuses_nobody(batches):
    early, back, drifts = batches(), batches(), batches()
    early[1, 40:] *= 0.5
    back[1, 100:190] *= 0.5
    drifts[1, 100:] *= np.linspace(1.0, 1.6, STEPS - 100)
    for loss in (early, back, drifts):
        assert [] == found(loss)


def test_data_that_came_in_runs_before_is_no_fault(batches):
    loss = batches()
    loss[0, 48:72] *= 1.5
    loss[1, 120:] *= 1.5
    assert [] == found(loss)


def test_values_that_may_be_below_zero_have_no_factor(batches):
    loss = batches() - 20.0
    loss[1, 120:] -= 3.0
    assert [] == found(loss)


def heavy(random):
    return falling() * np.exp(0.05 * random.standard_t(2, (2, STEPS)))


def uneven(random):
    return falling() * (
        1 + 0.03 * random.standard_normal((2, STEPS)) / np.sqrt(random.uniform(0.05, 1, (2, STEPS)))
    )


def wandering(random):
    steps = np.cumsum(0.01 * random.standard_normal((2, STEPS)), axis=1)
    return falling() * np.exp(steps + 0.02 * random.standard_normal((2, STEPS)))


@pytest.mark.parametrize("losses", [heavy, uneven, wandering])
def test_two_healthy_ranks_are_quiet(losses):
    """Batches of heavy tails or of uneven length, and data of either rank that wander."""
    drawn = (losses(np.random.default_rng(seed)) for seed in range(70))
    assert [] == [finding for values in drawn for finding in found(values)]


def test_data_that_come_to_two_ranks_in_runs_of_a_hundred_steps_page_nobody():
    """What fails: the first run of another kind looks like a fault for as long as it lasts."""
    findings = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        loss = falling()[:200] * (1 + 0.02 * random.standard_normal((2, 200)))
        findings += found(loss + np.repeat(random.choice([0.0, 0.3, 0.8], (2, 2)), 100, axis=1))
    assert all(finding.score < 1 for finding in findings)
