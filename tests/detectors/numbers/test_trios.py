"""Three ranks: the one that leaves the other two, and what data does to one of three."""

import numpy as np
import pytest

from rankscope.detectors.numbers.peer_values import PeerValuesDetector
from rankscope.detectors.sketch import sketch


def found(values):
    """Return what is found in the local losses of a job, [ranks, steps]."""
    own = np.full(values.shape, 0.8)
    return list(PeerValuesDetector().evaluate(sketch(own, planes={"training.loss|local": values})))


@pytest.fixture
def batches():
    """Return a function that draws [3, steps] local losses."""
    return lambda steps, seed=7: np.random.default_rng(seed).normal(2.0, 0.05, (3, steps))


def test_one_of_three_that_left_the_other_two_for_long_is_named_and_pages_nobody(batches, named):
    loss = batches(130)
    loss[1, 50:] -= 0.25
    assert [] == found(loss[:, :100]), "it may be its batches"
    findings = found(loss)
    assert ["1"] == named(findings, "rank.value_offset")
    assert all(finding.score < 1 for finding in findings)


def test_one_of_three_that_drifts_away_is_a_replica(batches, named):
    loss = batches(140)
    loss[2, 60:] += np.linspace(0.0, 1.0, 80)
    findings = found(loss)
    assert ["2"] == named(findings, "rank.value_drift")
    assert findings[-1].score >= 2


def test_all_three_going_ways_of_their_own_accuse_nobody(batches):
    loss = batches(200)
    loss[1, 60:] += 0.5
    loss[2, 60:] -= 0.5
    assert [] == found(loss)


def test_one_of_three_without_a_past_or_that_came_back_accuses_nobody(batches):
    from_the_start, back = batches(160), batches(160)
    from_the_start[1] += 0.5
    back[1, 50:130] += 0.5
    for loss in (from_the_start, back):
        assert [] == found(loss)


def test_data_that_come_to_three_ranks_in_short_runs_are_quiet(batches):
    findings = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        runs = random.choice([0.0, 0.3, 0.8], (3, 40))
        loss = batches(400, seed) + np.repeat(runs, 10, axis=1)
        for end in range(100, 400, 30):
            findings += found(loss[:, :end])
    assert [] == findings


def test_habits_that_are_shares_of_a_loss_that_falls_are_quiet(batches):
    habit = np.array([[0.9], [1.0], [1.2]])
    loss = batches(400) / 2.0 * habit * (0.1 + 5.0 / (1 + np.arange(400) / 20))
    assert [] == [f for end in range(100, 400, 20) for f in found(loss[:, :end])]


def test_losses_of_three_ranks_that_are_equal_or_below_zero_do_not_matter(batches, named):
    assert [] == found(np.full((3, 150), 2.0))
    loss = batches(150)
    loss[0, 60:] += 0.5
    assert ["0"] == named(found(loss - 3.0), "rank.value_offset")
