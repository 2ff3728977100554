"""Pipeline stages with more work than the others."""

from dataclasses import replace

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.balance.stages import StagesDetector
from rankscope.detectors.sketch import readings, sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.ranks import RankSet
from rankscope.vocabulary.topology import CommunicationGroup, JobTopology, RankPlacement


def evaluated(factor=1.4, rows=(6, 7), since=0, *, groups=(), pp=True, count=80, **more):
    """Evaluate four stages of two ranks, rows scaled by a factor."""
    own = steady(8, count)
    own[list(rows), since:] *= factor
    placed = JobTopology(
        Job("example"), world_size=8, groups=groups,
        placements=[RankPlacement(r, "host-0", pp=r // 2 if pp else None) for r in range(8)],
    )  # fmt: skip
    return StagesDetector().evaluate(sketch(own, placed=placed, role_of=np.arange(8) // 2, **more))


def test_a_whole_stage_that_was_slow_from_the_first_step_is_named():
    (found,) = evaluated()
    assert ("group.stage_slow", "pp stage 3", [6, 7]) == (
        found.kind, found.entity.id, list(found.entity.ranks),
    )  # fmt: skip
    assert 1.4 / 1.1 == pytest.approx(found.magnitude, abs=0.02)
    assert found.score > 1


def test_it_has_the_name_of_the_group_that_holds_just_its_ranks():
    groups = [
        CommunicationGroup("dp:a", "dp", RankSet((6, 7))),
        CommunicationGroup("tp:b", "tp", RankSet((6,))),
        CommunicationGroup("dp:c", "dp", RankSet((0, 6))),
        CommunicationGroup("pp:d", "pp", RankSet((0, 7))),
        CommunicationGroup("dp:e", "dp", RankSet(range(8))),
    ]
    (found,) = evaluated(groups=groups)
    assert ("dp:a", [6, 7]) == (found.entity.id, list(found.entity.ranks))


def test_a_little_more_work_is_info_and_next_to_none_nothing():
    (found,) = evaluated(1.2)
    assert 0.5 == found.score
    (found,) = evaluated(1.1)
    assert 0.5 == found.score
    assert [] == evaluated(1.06)


def test_one_slow_rank_of_a_stage_is_a_node():
    assert [] == evaluated(rows=(6,))


def test_what_began_later_is_no_partition():
    assert [] == evaluated(since=50)


def test_a_stage_that_waits_longer_than_the_others_holds_nobody_up():
    wait = np.full((8, 80), 0.1)
    wait[6:] = 0.5
    assert [] == evaluated(planes={"training.comm.duration": wait})


def test_without_stages_own_time_or_enough_steps_it_says_nothing():
    assert [] == evaluated(pp=False)
    assert [] == evaluated(count=30)
    blank = dict.fromkeys(("training.comm.duration", "training.compute.duration"),
                          np.full((8, 80), np.nan))  # fmt: skip
    assert [] == evaluated(planes=blank)
    half = steady(8, 80)
    half[4:] = np.nan
    assert [] == evaluated(planes={"training.compute.duration": half})
    other = JobTopology(Job("example"), placements=[RankPlacement(0, pp=1)])
    assert [] == StagesDetector().evaluate(sketch(steady(8, 80), placed=other))


def test_what_came_to_a_stage_on_two_hosts_at_once_is_its_work():
    own = steady(8, 120)
    own[[6, 7], 60:] *= 1.4
    where = [RankPlacement(r, f"host-{(r + 1) // 4}", pp=r // 2) for r in range(8)]
    placed = JobTopology(Job("example"), world_size=8, placements=where)
    window = sketch(own, placed=placed, role_of=np.arange(8) // 2)
    assert [] == StagesDetector().evaluate(window)
    window = replace(window, hosts=("host-0", "host-1"), host_of=np.array([0] * 7 + [1]))
    (found,) = StagesDetector().evaluate(window)
    assert 60 == np.searchsorted(window.steps.at[0], found.onset[1])
    assert "since step 60" in found.text


@pytest.mark.parametrize(
    ("hot", "since", "said"),
    [
        pytest.param((6, 7), 60, True, id="the clocks of its devices sank with it"),
        pytest.param((6,), 60, False, id="of half of its devices"),
        pytest.param((2, 3, 4, 5, 6, 7), 60, False, id="those of other stages did, too"),
        pytest.param((6, 7), -500, False, id="they always were that low"),
    ],
)
def test_a_stage_whose_devices_got_hot_when_it_became_slow_says_so(hot, since, said):
    """A stage that lies on the hosts of one rack: its cooling fails, and the partition is sound."""
    own = steady(8, 120)
    own[[6, 7], 60:] *= 1.4
    placed = JobTopology(Job("example"), world_size=8,
                      placements=[RankPlacement(r, pp=r // 2) for r in range(8)])  # fmt: skip
    window = sketch(own, placed=placed, role_of=np.arange(8) // 2)
    window = replace(window, hosts=("host-0", "host-1"), host_of=np.array([0] * 7 + [1]))
    began = float(window.steps.at[0][60])
    at = np.arange(began - 600, window.now, 5.0)
    held = np.zeros((8, len(at)))
    held[list(hot)] = at >= began + since - 60
    readings_of = {"hw.gpu.throttle|thermal_hw": readings(at, held)}
    (found,) = StagesDetector().evaluate(replace(window, rank_readings=readings_of))
    assert said == ("held down since" in found.text)
