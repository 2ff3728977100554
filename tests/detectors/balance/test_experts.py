"""Expert groups whose members calculate unlike each other."""

import numpy as np
import pytest

from rankscope.detectors.balance.experts import ExpertsDetector
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, RankPlacement


def evaluated(own, size=4, kind="ep", **more):
    """Evaluate eight ranks in groups of some size."""
    groups = [
        CommunicationGroup(f"ep:{number}", kind, RankSet(range(first, first + size)))
        for number, first in enumerate(range(0, 8, size))
    ]
    placed = JobTopology(
        Job("example"), world_size=8, groups=groups,
        placements=[RankPlacement(rank, "host-0") for rank in range(len(own))],
    )  # fmt: skip
    return [f.entity.id for f in ExpertsDetector().evaluate(sketch(own, placed=placed, **more))]


@pytest.fixture
def own(steady):
    return steady(8, 150, spread=0.005)


def test_the_same_position_slow_in_every_group_is_a_popular_expert(own):
    own[[2, 6]] *= 1.3
    assert {"ep:0", "ep:1"} == set(evaluated(own))


def test_another_member_slow_from_minute_to_minute_is_one_too(own):
    for number, first in enumerate(range(0, 150, 30)):
        own[number % 3, first : first + 30] *= 1.3
    assert ["ep:0"] == evaluated(own, size=8)


def test_others_that_became_faster_gave_their_tokens_away(own):
    own[2, 50:] *= 1.35
    own[[0, 1, 3, 4, 5, 6, 7], 50:] *= 0.95
    assert ["ep:0"] == evaluated(own, size=8)


def test_of_a_pair_one_gave_its_tokens_to_the_other(own):
    own[2, 25:] *= 1.35
    own[3, 25:] *= 0.65
    assert ["ep:1"] == evaluated(own[:, :50], size=2)


def test_of_a_pair_one_that_became_slow_alone_is_a_device(own):
    own[2, 25:] *= 1.35
    assert [] == evaluated(own[:, :50], size=2)


def test_one_rank_always_slow_may_be_a_device(own):
    own[2] *= 1.3
    assert [] == evaluated(own)
    assert [] == evaluated(own, size=8)


def test_one_rank_that_became_slow_while_the_others_stayed_is_a_device(own):
    own[2, 50:] *= 1.3
    assert [] == evaluated(own, size=8)


def test_slow_ranks_at_two_positions_are_two_devices(own):
    own[2] *= 1.3
    own[5] *= 1.3
    assert [] == evaluated(own)


def test_noise_and_single_pauses_are_no_imbalance(own, steady):
    assert [] == evaluated(own)
    assert [] == evaluated(steady(8, 150, spread=0.2))
    own[[1, 4], ::20] += 2.0
    assert [] == evaluated(own)


def test_groups_of_other_kinds_small_ones_and_few_steps_are_left_out(own):
    own[[2, 6]] *= 1.3
    assert [] == evaluated(own, kind="dp")
    assert [] == evaluated(own, size=1)
    assert [] == evaluated(own[:, :20])
    blank = dict.fromkeys(("training.comm.duration", "training.compute.duration"),
                          np.full((8, 150), np.nan))  # fmt: skip
    assert [] == evaluated(own, planes=blank)
    own[:4] = np.nan
    assert [] == evaluated(own)


def test_pairs_have_no_others_that_could_be_faster(own):
    own[1, 50:] *= 1.4
    assert [] == evaluated(own, size=2)


def test_members_that_are_not_reported_are_left_out(own):
    assert [] == evaluated(own[:6])
    own[7] = np.nan
    own[[2, 6]] *= 1.3
    assert {"ep:0", "ep:1"} == set(evaluated(own))


def test_members_that_wander_by_a_few_per_cent_gave_nobody_their_tokens(steady):
    """Each now a little faster than an hour ago, now slower, as a router's favour goes."""
    own = steady(8, 150, spread=0.005)
    own[:, 75:] *= np.array([0.93, 1.07, 0.97, 1.0, 0.99, 0.95, 1.02, 0.96])[:, None]
    assert [] == evaluated(own, size=8)


def test_where_all_became_faster_nobody_has_the_tokens(own):
    own[2] *= 1.08
    own[:, 75:] *= 0.95
    assert [] == evaluated(own, size=8)


def test_half_the_excess_is_enough_where_the_others_have_become_faster(own):
    own[2, 75:] *= 1.1
    assert [] == evaluated(own)
    own[[0, 1, 3], 75:] *= 0.97
    assert ["ep:0"] == evaluated(own)


def test_it_began_where_the_slowest_member_left_the_level_of_before(own):
    own[[2, 6], 75:] *= 1.3
    groups = [CommunicationGroup(f"ep:{n}", "ep", RankSet(range(4 * n, 4 * n + 4))) for n in (0, 1)]
    where = [RankPlacement(rank, "host-0") for rank in range(8)]
    placed = JobTopology(Job("example"), world_size=8, groups=groups, placements=where)
    window = sketch(own, placed=placed)
    found = ExpertsDetector().evaluate(window)
    assert [75, 75] == [np.searchsorted(window.steps.at[0], one.onset[1]) for one in found]


@pytest.fixture
def routed(steady):
    """Return (own, tokens) of ranks of which one gets 30 % more tokens from step 60 on."""
    tokens = 4096 * steady(8, 240, spread=0.01) / 0.8
    tokens[2, 60:] *= 1.3
    return steady(8, 240, spread=0.005) * tokens / 4096, tokens


def test_tokens_that_stay_at_one_member_are_the_routers_work(routed):
    own, tokens = routed
    assert ["ep:0"] == evaluated(own, planes={"training.tokens": tokens})


def test_tokens_that_go_to_another_member_at_each_step_are_lengths(steady):
    tokens = 4096 * steady(8, 240, spread=0.01) / 0.8
    tokens[np.random.default_rng(2).integers(0, 8, 180), np.arange(60, 240)] *= 1.3
    own = steady(8, 240, spread=0.005) * tokens / 4096
    assert [] == evaluated(own, planes={"training.tokens": tokens})


def test_the_members_that_stand_out_are_named(own):
    own[[2, 6]] *= 1.3
    groups = [CommunicationGroup(f"ep:{n}", "ep", RankSet(range(4 * n, 4 * n + 4))) for n in (0, 1)]
    placed = JobTopology(
        Job("example"), world_size=8, groups=groups,
        placements=[RankPlacement(rank, "host-0") for rank in range(8)],
    )  # fmt: skip
    found = ExpertsDetector().evaluate(sketch(own, placed=placed))
    assert {"ep:0": [2], "ep:1": [6]} == {row.entity.id: sorted(row.ranks) for row in found}


@pytest.mark.parametrize("strided", [False, True])
def test_groups_that_nobody_reports_follow_from_the_coordinates(own, strided):
    """Of neighbours, or of ranks that lie far apart."""
    own[[2, 6] if not strided else [4, 5]] *= 1.3
    placed = JobTopology(
        Job("example"), world_size=8,
        placements=[
            RankPlacement(rank, "host-0", dp=rank, tp=0, pp=0, ep=ep)
            for rank, ep in enumerate([0, 0, 1, 1, 2, 2, 3, 3] if strided else [0, 1, 2, 3] * 2)
        ],
    )  # fmt: skip
    found = ExpertsDetector().evaluate(sketch(own, placed=placed))
    groups = [[0, 2, 4, 6], [1, 3, 5, 7]] if strided else [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert groups == sorted(list(one.entity.ranks) for one in found)
