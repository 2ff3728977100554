"""Who waits for whom: by tensor, pipeline, expert and data-parallel group."""

import numpy as np
import pytest

from rankscope.lab.simulator import waits
from rankscope.lab.simulator.conditions import healthy as sound
from rankscope.lab.simulator.placement import seat
from rankscope.lab.simulator.shape import ScenarioError, SimulatedCluster, SimulatedJob

from .jobs import broken, durations, healthy, slowdown, split, steps

CLUSTER = SimulatedCluster(hosts=4, slots=4)


def seats_of(job):
    return seat(CLUSTER, job, attempt=0, order=np.arange(4))


def arrivals(job, compute):
    seats = seats_of(job)
    return waits.AttemptWaits(job, seats).arrivals(np.zeros(seats.world), compute), seats


def test_without_groups_a_rank_arrives_when_its_own_work_is_done():
    compute = np.linspace(1.0, 2.0, 16)
    found, _ = arrivals(SimulatedJob(), compute)
    np.testing.assert_array_equal(compute, found)


def test_a_slow_rank_holds_up_its_tensor_parallel_peers_and_nobody_else_before_the_reduction():
    compute = np.ones(16)
    compute[5] = 1.5
    found, seats = arrivals(SimulatedJob(tp=4), compute)
    assert (found[seats.dp == seats.dp[5]] == 1.5).all()
    assert (found[seats.dp != seats.dp[5]] == 1.0).all()


def test_a_slow_rank_holds_up_its_expert_parallel_group_and_nobody_else_before_the_reduction():
    compute = np.ones(16)
    compute[5] = 1.5
    found, seats = arrivals(SimulatedJob(ep=4), compute)
    group = seats.dp // 4 == seats.dp[5] // 4
    assert (found[group] == 1.5).all()
    assert (found[~group] == 1.0).all()


def test_filling_the_pipeline_costs_one_beat_for_each_stage_but_the_last():
    found, seats = arrivals(SimulatedJob(pp=4, micro_batches=8), np.ones(16))
    assert found[seats.pp == 0] == pytest.approx((8 - 1 + 4) / 8)


def test_the_last_stage_ends_its_last_backward_first():
    found, seats = arrivals(SimulatedJob(pp=4, micro_batches=8), np.ones(16))
    ends = [found[seats.pp == stage][0] for stage in range(4)]
    assert ends == sorted(ends, reverse=True)


def test_the_slowest_stage_sets_the_beat():
    job = SimulatedJob(pp=4, micro_batches=100)
    compute = np.where(seats_of(job).pp == 2, 1.4, 1.0)
    found, _ = arrivals(job, compute)
    assert found.max() == pytest.approx(1.4, rel=0.04)


def reduced(job, arrival, compute, seed=0):
    seats = seats_of(job)
    random = np.random.default_rng(seed)
    return waits.AttemptWaits(job, seats).reduced(arrival, compute, sound(CLUSTER), random), seats


def test_where_no_norm_is_taken_each_data_parallel_group_ends_by_itself():
    arrival = np.ones(16)
    arrival[0] = 3.0
    job = SimulatedJob(tp=4, clips=False)
    done, seats = reduced(job, arrival, np.ones(16))
    assert (done[seats.tp == seats.tp[0]] > 3.0).all()
    assert (done[seats.tp != seats.tp[0]] < 2.0).all()


def test_the_norm_of_all_gradients_makes_everybody_meet():
    arrival = np.ones(16)
    arrival[0] = 3.0
    done, _ = reduced(SimulatedJob(tp=4), arrival, np.ones(16))
    assert len(np.unique(done)) == 1


def test_overlap_hides_communication_beneath_backward_but_never_the_last_bucket():
    exposed = [
        reduced(SimulatedJob(overlap=share), np.ones(16), np.full(16, 0.5))[0][0] - 1
        for share in (0.0, 0.2, 5.0)
    ]
    assert exposed[0] > exposed[1] > exposed[2] > 0


def test_a_slow_network_shows_only_beyond_what_the_overlap_hides():
    ratios = [
        slowdown(broken("network_slow", {"factor": 2.0}, overlap=share)) for share in (0.0, 0.6)
    ]
    assert ratios[0] > 1.12
    assert ratios[1] < ratios[0] - 0.05


def test_a_slow_stage_shows_bubbles_in_the_others():
    found = broken("pipeline_stage", {"stage": 1, "factor": 1.5}, pp=4)
    stage = found.attempts[0].seats.pp
    before, after = split(found, "comm")
    grown = after - before
    assert grown[stage != 1].min() > 0.25
    assert np.abs(grown[stage == 1]).max() < 0.12
    assert list(found.truth.entity.ranks) == np.flatnonzero(stage == 1).tolist()
    assert slowdown(found) > 1.25


def test_a_hot_expert_slows_its_group_and_its_cold_peers_wait():
    found = broken("expert", {"group": 1, "member": 2, "factor": 2.0, "ramp": 0.0}, ep=4)
    seats = found.attempts[0].seats
    hot = (seats.dp // 4 == 1) & (seats.ep == 2)
    _, compute = split(found, "compute")
    assert compute[hot].min() > 1.25 * compute[~hot].max()
    members = next(group for group in seats.groups if group.name == found.truth.entity.id).members
    assert list(found.truth.entity.ranks) == members.tolist()
    assert hot[members].sum() == 1


def test_each_stage_and_tensor_index_has_an_expert_group_that_names_the_fault():
    found = broken("expert", {"member": 1, "factor": 2.0, "ramp": 0.0}, tp=2, pp=2, ep=2)
    seats = found.attempts[0].seats
    named = {found.truth.entity.id, *(entity.id for entity in found.truth.accepted)}
    hot = {
        group.name
        for group in seats.groups
        if group.kind == "ep" and seats.dp[group.members].max() < 2
    }
    assert 4 == len(hot)
    assert hot == named


def test_ranks_with_more_tokens_take_longer_and_more_than_in_proportion():
    found = broken("sequence_length", {"spread": 0.4}, onset=0.0, attention=0.3)
    tokens = np.stack([row.tokens for row in found.attempts[0].steps.values])[6:].ravel()
    compute = steps(found, "compute")[6:].ravel()
    few, many = tokens < 0.7 * 16384, tokens > 1.6 * 16384
    assert np.corrcoef(tokens, compute)[0, 1] > 0.95
    rate = compute / tokens
    middle = ~few & ~many
    assert np.median(rate[many]) > np.median(rate[middle])
    last = np.argmax(steps(found, "compute")[6:], axis=1)
    assert len(np.unique(last)) > 10


def test_rank_0_that_gathers_waits_least_and_the_extra_time_is_outside_its_compute():
    found = broken("rank0_gather", {"seconds": 0.4, "held": 4e9})
    before, after = split(found, "comm")
    assert after[0] < 0.35 < after[1:].min()
    (compute_before, compute_after) = split(found, "compute")
    np.testing.assert_allclose(compute_after, compute_before, rtol=0.03)
    held = np.stack([row.allocated for row in found.attempts[0].steps.held])
    assert held[-1, 0] - held[10, 0] == pytest.approx(4e9, rel=0.1)
    assert before.max() < 0.35


def test_rank_0_that_prepares_for_all_makes_the_others_wait_in_the_broadcast():
    found = broken("rank0_preprocessing", {"seconds": 0.4})
    data_before, data = split(found, "data")
    assert data[0] - data_before[0] == pytest.approx(0.4, rel=0.2)
    assert data[1:].max() < 0.05
    _, comm = split(found, "comm")
    assert comm[1:].min() > comm[0] + 0.3


def test_slow_changes_of_everybodys_speed_stay_within_their_amplitude():
    took = durations(healthy(drift=0.02, drift_seconds=80.0, seconds=300.0))[10:]
    still = durations(healthy(drift=0.0, seconds=300.0))[10:]
    smooth = np.convolve(took, np.ones(15) / 15, "valid")
    quiet = np.convolve(still, np.ones(15) / 15, "valid")
    assert np.ptp(quiet) < np.ptp(smooth) < 0.05


def test_ranks_that_make_no_whole_groups_are_refused():
    with pytest.raises(ScenarioError, match="no multiple of ep"):
        healthy(ep=5)
