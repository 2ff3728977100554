"""Devices whose power limit is below that of their peers of the same model."""

import numpy as np
import pytest

from rankscope.detectors.hardware.power_limits import PowerLimitsDetector
from rankscope.detectors.sketch import START, sketch


@pytest.fixture
def found(steady):
    """Return a function that returns the findings on power limits of eight devices."""

    def evaluate(limit, **more):
        window = sketch(steady(ranks=8), rank_readings={"hw.power.limit": limit, **more})
        return PowerLimitsDetector().evaluate(window)

    return evaluate


def test_a_limit_lowered_in_the_midst_is_named_with_its_second(found, levels):
    (finding,) = found(levels(8, 700, 400, 5, since=30))
    assert ("GPU-5", START + 30) == (finding.entity.id, finding.onset[0])


@pytest.fixture
def alike(levels):
    """Return readings that say that all eight devices are of one model."""
    return {"hw.gpu.memory.limit": levels(8, 80 * 2.0**30)}


def test_a_limit_lower_on_all_devices_of_a_host_is_named_for_each(found, levels, alike):
    found_there = found(levels(8, 700, 400, [4, 5, 6, 7]), **alike)
    assert ["GPU-4", "GPU-5", "GPU-6", "GPU-7"] == [f.entity.id for f in found_there]


def test_a_limit_that_all_have_is_the_sites_choice(found, levels):
    assert [] == found(levels(8, 400))


def test_a_limit_that_most_have_is_not_low(found, levels, alike):
    assert [] == found(levels(8, 700, 400, [0, 1, 2, 3, 4]), **alike)


def test_where_nothing_tells_models_apart_another_host_may_have_another(found, levels):
    assert [] == found(levels(8, 700, 400, [4, 5, 6, 7]))
    assert ["GPU-6"] == [f.entity.id for f in found(levels(8, 700, 400, [6]))]


def test_another_model_has_another_limit(found, levels):
    memory = levels(8, 80 * 2.0**30, 40 * 2.0**30, [4, 5, 6, 7])
    limit = levels(8, 700, 400, [4, 5, 6, 7])
    assert [] == found(limit, **{"hw.gpu.memory.limit": memory})


def test_a_limit_a_little_lower_is_normal_life(found, levels):
    assert [] == found(levels(8, 700, 690, 5))


@pytest.fixture
def pool(levels, alike):
    """Return a function for eight devices at work, the last two of which have a lower limit."""

    def readings(clock, work=0.95):
        return {
            "hw.gpu.utilization": levels(8, 0.95, work, [6, 7]),
            "hw.frequency|sm": levels(8, 1.98e9, clock, [6, 7]),
            **alike,
        }

    return readings


@pytest.mark.parametrize(
    ("clock", "work", "score"),
    [
        pytest.param(1.98e9, 0.95, 0.9, id="it runs as its peers do: the limit is not reached"),
        pytest.param(1.6e9, 0.95, 1.9, id="it runs slower"),
        pytest.param(0.3e9, 0.02, 0.9, id="it has no work, so that its clock says nothing"),
    ],
)
def test_a_lower_limit_harms_where_it_is_reached(found, levels, pool, clock, work, score):
    there = found(levels(8, 700, 640, [6, 7]), **pool(clock, work))
    assert [("GPU-6", score), ("GPU-7", score)] == [(f.entity.id, f.score) for f in there]


@pytest.mark.parametrize(
    ("silent", "named"),
    [
        pytest.param([6, 7], ["GPU-4", "GPU-5"], id="most of those that have reported say it"),
        pytest.param([2, 3, 6, 7], [], id="of those that have reported no limit is that of most"),
    ],
)
def test_of_two_equal_halves_none_is_usual_before_every_device_has_reported(
    found, levels, alike, silent, named
):
    limit = levels(8, 700, 640, [4, 5])
    limit.value[silent] = np.nan
    assert named == [f.entity.id for f in found(limit, **alike)]


def test_of_two_of_one_model_the_lower_limit_is_the_odd_one(steady, levels):
    same = {"hw.gpu.memory.limit": levels(2, 80 * 2.0**30)}
    limit = {"hw.power.limit": levels(2, 350, 172, 1)}
    detector = PowerLimitsDetector()
    (finding,) = detector.evaluate(sketch(steady(ranks=2), rank_readings={**limit, **same}))
    assert "GPU-1" == finding.entity.id
    assert [] == detector.evaluate(sketch(steady(ranks=2), rank_readings=limit))


def test_two_hosts_that_always_had_a_lower_limit_are_a_pool_of_their_own(steady, levels):
    bought = {"hw.power.limit": levels(10, 700, 644, [6, 7, 8, 9])}
    same = {"hw.gpu.memory.limit": levels(10, 80 * 2.0**30)}
    window = sketch(steady(ranks=10), hosts=5, rank_readings={**bought, **same})
    assert [] == PowerLimitsDetector().evaluate(window)


def test_two_devices_of_different_hosts_with_a_lower_limit_are_no_pool(steady, levels):
    limit = {"hw.power.limit": levels(10, 700, 644, [6, 8])}
    same = {"hw.gpu.memory.limit": levels(10, 80 * 2.0**30)}
    window = sketch(steady(ranks=10), hosts=5, rank_readings={**limit, **same})
    there = PowerLimitsDetector().evaluate(window)
    assert [("GPU-6", 1.9), ("GPU-8", 1.9)] == [(f.entity.id, f.score) for f in there]


@pytest.mark.parametrize(
    ("lowered", "score"),
    [
        pytest.param([6, 7], 1.9, id="those of one host: nobody else has been asked to save"),
        pytest.param([3, 6, 7], 0.9, id="those of several hosts: the site is at it"),
    ],
)
def test_a_site_that_moves_its_limits_is_left_to_finish(found, levels, pool, lowered, score):
    there = found(levels(8, 700, 560, lowered, since=40), **pool(1.6e9))
    assert {score} == {f.score for f in there if f.entity.id in ("GPU-6", "GPU-7")}


def test_a_clock_at_rest_now_and_then_says_nothing_of_a_limit(found, levels, pool):
    now_and_then = pool(1.98e9)
    now_and_then["hw.frequency|sm"].value[6:, ::2] = 0.345e9
    there = found(levels(8, 700, 640, [6, 7]), **now_and_then)
    assert [0.9, 0.9] == [f.score for f in there]


@pytest.mark.parametrize(
    ("since", "score"),
    [
        pytest.param(0, 0.9, id="it always had the limit: a few low readings may be chance"),
        pytest.param(50, 1.9, id="the limit fell, and the clock with it"),
    ],
)
def test_a_clock_that_wanders_at_its_cap_is_slower_only_since_its_limit_fell(
    found, levels, pool, since, score
):
    wandering = pool(1.98e9)
    wandering["hw.frequency|sm"].value[6:, -3:] = [1.92e9, 1.89e9, 1.9e9]
    there = found(levels(8, 700, 640, [6, 7], since=since), **wandering)
    assert [score, score] == [f.score for f in there]


@pytest.fixture
def lowered(steady, levels):
    """Return a function: limits of four devices at work, lowered from second 30 on."""

    def evaluate(which=(0, 1, 2, 3), *, clock=1.6e9, work=0.95, hosts=1, limit=500):
        readings = {
            "hw.power.limit": levels(4, 700, limit, which, since=30),
            "hw.gpu.memory.limit": levels(4, 80 * 2.0**30),
            "hw.gpu.utilization": levels(4, work),
        }
        if clock:
            readings["hw.frequency|sm"] = levels(4, 1.98e9, clock, which, since=30)
        window = sketch(steady(), hosts=hosts, rank_readings=readings)
        return PowerLimitsDetector().evaluate(window)

    return evaluate


@pytest.mark.parametrize("which", [(0, 1, 2, 3), (1, 2, 3)])
@pytest.mark.parametrize(
    ("job", "score"),
    [
        pytest.param({}, 1.9, id="they run slower since then"),
        pytest.param({"clock": 0}, 1.9, id="nobody reports clocks"),
        pytest.param({"clock": 1.95e9}, 0.9, id="they run as they did: it is not reached"),
        pytest.param({"work": 0.02}, 0.9, id="they have no work, so that clocks say nothing"),
    ],
)
def test_limits_lowered_on_most_devices_of_the_only_host_stand_against_their_past(
    lowered, which, job, score
):
    there = lowered(which, **job)
    assert [(f"GPU-{n}", score, START + 30) for n in which] == [
        (f.entity.id, f.score, f.onset[0]) for f in there
    ]
    assert there[0].text.endswith("power limit 500 W, it had 700 W before")


def test_of_a_few_lowered_limits_the_peers_say_what_is_usual(lowered):
    (finding,) = lowered((3,))
    assert finding.text.endswith("power limit 500 W, its peers have 700 W")


@pytest.mark.parametrize(
    "job",
    [
        pytest.param({"hosts": 2}, id="of several hosts: the site's choice"),
        pytest.param({"limit": 690}, id="a little"),
        pytest.param({"limit": 750}, id="raised"),
    ],
)
def test_limits_that_moved_alike_are_none_of_the_jobs_trouble(lowered, job):
    assert [] == lowered(**job)
