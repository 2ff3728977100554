"""Whom others wait for shows by devices that rest, where ranks report step times alone."""

import numpy as np
import pytest

from rankscope.detectors import compute_time
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.starved_devices import UTILIZATION, StarvedDevicesDetector

RANKS, STEPS, SLOW = 8, 120, 60
AT = START + np.arange(0.0, 156, 3)


@pytest.fixture
def slow_job():
    """Return a function that draws a job 0.6 s slower from step 60 on, and what devices do then."""

    def draw(used, *, phases=False, at=AT, seed=7):
        random = np.random.default_rng(seed)
        own = random.normal(0.8, 0.008, (RANKS, STEPS))
        own[:, SLOW:] += 0.6
        before = random.normal(0.95, 0.02, (RANKS, len(at)))
        since = random.normal(np.asarray(used)[:, None], 0.05, (RANKS, len(at)))
        values = np.where(at > START + SLOW, since, before).clip(0.0, 1.0)
        unknown = np.full((RANKS, STEPS), np.nan)
        planes = {} if phases else {compute_time.COMPUTE: unknown, compute_time.COMM: unknown}
        return sketch(own, planes=planes, rank_readings={UTILIZATION: readings(at, values)})

    return draw


def named(window):
    return [finding.entity.id for finding in StarvedDevicesDetector().evaluate(window)]


def at_host(used, *ranks):
    return [used if rank in ranks else 0.98 for rank in range(RANKS)]


@pytest.mark.parametrize("ranks", [(5,), (0, 1, 2, 3)])
def test_ranks_whose_devices_rest_while_the_others_spin_are_named(slow_job, ranks):
    assert [str(rank) for rank in ranks] == named(slow_job(at_host(0.6, *ranks)))


def test_a_host_whose_devices_rest_is_told_by_fewer_readings_than_one_of_its_ranks(slow_job):
    at = START + np.arange(0.0, 156, 12)
    random = np.random.default_rng(3).normal(0.0, 0.25, 4)
    rested = [0.6 + off for off in random - random.mean()]
    assert {"0", "1", "2", "3"} >= set(named(slow_job([*rested, *[0.98] * 4], at=at))) != set()


@pytest.mark.parametrize(
    "used",
    [
        pytest.param([0.98] * RANKS, id="a slow device works, and the others wait"),
        pytest.param([0.6] * RANKS, id="all rest alike"),
        pytest.param(at_host(0.6, *range(6)), id="most of them rest"),
        pytest.param([0.6, *[0.75] * 7], id="collectives that wait by sleeping"),
        pytest.param(at_host(0.93, 5), id="one rests for a part of it that says little"),
    ],
)
def test_nobody_is_named(slow_job, used):
    assert [] == named(slow_job(used))


def test_what_ranks_report_of_their_steps_says_more(slow_job):
    assert [] == named(slow_job(at_host(0.6, 5), phases=True))


def test_few_readings_say_nothing(slow_job):
    assert [] == named(slow_job(at_host(0.6, 5), at=START + np.arange(0.0, 156, 30)))
