"""Ranks whose own values leave those of their peers."""

import numpy as np
import pytest

from rankscope.detectors.numbers.peer_values import PeerValuesDetector
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, RankPlacement

LOSS, NORM = "training.loss|local", "training.grad_norm|local"


def batches(ranks=8, steps=160, *, level=2.0, noise=0.05, seed=7):
    """Return [ranks, steps] of values that differ by their batches."""
    return np.random.default_rng(seed).normal(level, noise, (ranks, steps))


def found(values, plane=LOSS, **fields):
    """Return what is found in a job with one plane."""
    own = np.full(values.shape, 0.8)
    return list(PeerValuesDetector().evaluate(sketch(own, planes={plane: values}, **fields)))


@pytest.mark.parametrize("plane", [LOSS, NORM])
def test_an_offset_that_comes_at_once_is_a_device_that_computes_wrong(plane, named):
    values = batches()
    values[5, 100:] += 0.4
    findings = found(values, plane)
    assert ["5"] == named(findings, "rank.value_offset")
    assert ["example"] == named(findings, "job.values_differ")
    assert "since step 100" in findings[-1].text or "since step 9" in findings[-1].text


def test_an_offset_that_grows_is_a_replica_that_drifts_away(named):
    values = batches(steps=240)
    values[2] += np.linspace(0, 1.0, 240)
    findings = found(values)
    assert ["2"] == named(findings, "rank.value_drift")
    assert [] == named(findings, "rank.value_offset")


def test_a_drift_that_began_late_is_no_offset(named):
    values = batches(steps=400)
    values[2, 340:] += np.linspace(0, 0.5, 60)
    findings = found(values)
    assert ["2"] == named(findings, "rank.value_drift")
    assert "since step 3" in findings[-1].text


@pytest.mark.parametrize(("width", "expected"), [(2, ["6", "7"]), (1, [])])
def test_a_replica_of_several_ranks_is_one_that_drifts_away(named, width, expected):
    """Tensor-parallel ranks have the loss of one batch; two batches of eight may be wide."""
    values = np.repeat(batches(8 // width, 400), width, axis=0)
    values[6:] += np.maximum(np.linspace(-0.5, 0.5, 400), 0.0)
    places = [RankPlacement(r, "host-0", dp=r // width, tp=r % width) for r in range(8)]
    topology = JobTopology(Job("example"), placements=places)
    roles = np.arange(8) % width
    findings = found(values, placed=topology, role_of=roles)
    assert expected == named(findings, "rank.value_drift")


def test_a_slow_drift_is_no_habit_where_most_of_few_points_drift():
    """Of the 66 points before the newest 16 the last 36 drift."""
    drift = 0.05 * 0.075 * np.maximum(np.arange(82) - 30, 0)
    drawn = [batches(16, 82, seed=seed) for seed in range(20)]
    for values in drawn:
        values[4] += drift
    ranks = [[f.entity.id for f in found(values)[1:]] for values in drawn]
    assert 19 <= ranks.count(["4"])


def test_an_offset_with_errors_of_its_own_that_lasts_long_stays_one(named):
    values = batches(steps=500)
    values[2, 60:] += 0.5 * np.random.default_rng(3).normal(1.0, 0.2, 440)
    findings = found(values)
    assert ["2"] == named(findings, "rank.value_offset")


def test_shards_of_data_that_differ_from_the_first_step_are_quiet():
    values = batches() + np.linspace(-0.1, 0.1, 8)[:, None]
    assert [] == found(values)


def test_batches_with_a_heavy_tail_are_quiet():
    rng = np.random.default_rng(1)
    assert [] == [f for _ in range(30) for f in found(3 + 0.1 * rng.standard_t(2, (16, 120)))]


def test_a_rank_whose_odd_batches_come_now_and_then_is_quiet():
    values = batches()
    values[3, ::9] += 2.0
    assert [] == found(values)


def test_half_of_the_ranks_accuse_nobody():
    values = batches()
    values[4:, 80:] += 0.5
    assert [] == found(values)


def test_ranks_of_another_role_are_no_peers():
    values = batches()
    values[4:] += 1.0
    assert [] == found(values, role_of=np.repeat([0, 1], 4))


def test_equal_values_and_a_single_rank_are_quiet():
    assert [] == found(np.full((8, 100), 2.0))
    values = batches(ranks=1)
    values[0, 80:] += 1.0
    assert [] == found(values)


def test_a_small_offset_of_few_points_is_either_a_device_or_a_replica(named):
    values = batches(steps=120)
    values[5, 90:] += 0.15
    findings = found(values)
    assert ["5"] == named(findings, "rank.value_off")


def test_data_that_come_in_runs_on_each_rank_are_quiet():
    """Eight ranks, each 50 steps in one of a few domains with losses of their own."""
    findings = []
    for seed in range(4):
        random = np.random.default_rng(100 + seed)
        means, runs = random.uniform(1.6, 2.6, 3), random.integers(0, 3, (8, 12))
        loss = batches(steps=600, level=0.0, seed=seed) + np.repeat(means[runs], 50, axis=1)
        for end in range(200, 600, 20):
            findings += found(loss[:, :end])
    assert [] == findings


def test_a_rank_that_leaves_its_peers_for_single_steps_again_and_again_is_named(named):
    norm = batches(level=1.0)
    assert [] == found(norm, NORM)
    norm[5, [100, 104, 111, 120, 128, 141]] *= 4.0
    findings = found(norm, NORM)
    assert ["5"] == named(findings, "rank.value_offset")
    assert "in 6 single steps since step 100" in findings[-1].text


def test_odd_batches_that_come_to_several_ranks_are_quiet():
    norm = batches(level=1.0)
    norm[5, [100, 104, 111, 120, 128]] *= 4.0
    norm[2, [103, 130]] *= 4.0
    assert [] == found(norm, NORM)


def test_ranks_of_roles_with_three_ranks_each_are_peers_of_each_other(losses):
    loss = np.stack([losses(120, noise=0.05, seed=rank) for rank in range(12)])
    loss[5, 60:] += 0.5
    window = sketch(np.full((12, 120), 0.8), planes={"training.loss|local": loss},
                    role_of=np.arange(12) // 3)  # fmt: skip
    assert ["job.values_differ", "rank.value_offset"] == [
        finding.kind for finding in PeerValuesDetector().evaluate(window)
    ]
