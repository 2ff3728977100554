"""Growth that does not stop, told from everything that healthy memory does."""

import numpy as np
import pytest

from rankscope.detectors.memory import growth
from rankscope.detectors.sketch import START, readings
from rankscope.detectors.window import PeriodicReadings

GIB = 2.0**30
LIMIT = 80 * GIB
AT = START + np.arange(0.0, 1201, 5)
SECOND = AT - START


@pytest.fixture
def noise():
    """Return 50 MiB of noise, the same every time."""
    return np.random.default_rng(5).normal(0, 0.05 * GIB, len(AT))


def grown(value, *, at=AT, **more):
    value = np.atleast_2d(value) * 1.0
    rows = len(value)
    return growth.growing(
        readings(at, value), now=float(at[-1]), least=np.full(rows, 0.004 * LIMIT),
        limit=np.full(rows, LIMIT), **more,
    )  # fmt: skip


@pytest.mark.parametrize("since", [1050, 1000, 900, 700, 300, 0])
def test_one_hundredth_a_minute_is_found_within_minutes_and_its_end_is_known(noise, since):
    """Found within five minutes, and the time that is left known to within a quarter."""
    found = grown(40 * GIB + noise + np.maximum(SECOND - since, 0) / 60 * 0.01 * LIMIT)
    expected, shortest, longest = (time[0] for time in found.left(LIMIT - found.level))
    right = (LIMIT - 40 * GIB) / (0.01 * LIMIT) * 60 - (1200 - since)
    assert right == pytest.approx(expected, rel=0.15)
    assert shortest <= expected <= longest
    assert max(since, 300) == pytest.approx(found.begun[0] - START, abs=120)


@pytest.mark.parametrize("drift", [0.0, 0.2])
def test_growth_that_few_noisy_readings_show_began_when_it_became_faster(drift):
    """Every 16 s, one minute's growth is four times the noise; before, nothing or a slow drift."""
    at = START + np.arange(0.0, 800, 16)
    noise = np.random.default_rng(3).normal(0, 0.4 * GIB, len(at))
    second = at - START
    value = 40 * GIB + noise + (drift * second + 1.6 * np.maximum(second - 600, 0)) / 60 * GIB
    found = grown(value, at=at)
    assert found.begun[0] - START == pytest.approx(600, abs=40)
    assert found.slope[0] * 60 / GIB == pytest.approx(1.6 + drift, rel=0.25)


def test_one_hundredth_an_hour_is_found_in_the_thinned_past():
    at = START + np.arange(1.0, 49) * 900
    value = 40 * GIB + (at - START) / 3600 * 0.01 * LIMIT

    class Past(PeriodicReadings):
        def history(self):
            return readings(at, value[None])

    held = Past(np.array([[at[-1]]]), value[None, -1:])
    row = np.full(1, 0.004 * LIMIT)
    found = growth.growing(held, now=float(at[-1]), least=row, limit=np.full(1, LIMIT))
    assert found is not None
    left = found.left(LIMIT - found.level)[0][0]
    assert 38 * 3600 == pytest.approx(left, rel=0.1)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(np.where(SECOND > 1100, 10, 0), id="a resize is one step"),
        pytest.param(np.where(SECOND > 1050, 5, 0) + np.where(SECOND > 1100, 5, 0), id="two steps"),
        pytest.param(10 * (1 - np.exp(-SECOND / 200)), id="a cache levels off"),
        pytest.param(10 * (SECOND % 300) / 300, id="an epoch comes back down"),
        pytest.param(np.minimum(SECOND, 600) / 60, id="growth that stopped is over"),
        pytest.param(-SECOND / 60, id="memory that shrinks"),
        pytest.param(0 * SECOND, id="constant"),
    ],
)
def test_what_healthy_memory_does_is_no_growth(noise, value):
    assert grown(40 * GIB + value * GIB) is None
    assert grown(40 * GIB + value * GIB + noise) is None


def test_noise_alone_is_no_growth():
    random = np.random.default_rng(2)
    assert grown(40 * GIB + random.normal(0, 2 * GIB, (500, len(AT)))) is None


def test_growth_that_heads_for_less_than_the_limit_is_returned_when_asked_for():
    value = 40 * GIB + 20 * GIB * (1 - np.exp(-np.maximum(SECOND - 900, 0) / 200))
    assert grown(value) is None
    found = grown(value, levelling=True)
    assert [True] == found.levels.tolist()


def test_a_third_of_the_readings_may_be_missing(noise):
    value = 40 * GIB + noise + SECOND / 60 * 0.01 * LIMIT
    value[np.random.default_rng(1).random(len(value)) < 0.4] = np.nan
    found = grown(value)
    assert 0.01 * LIMIT / 60 == pytest.approx(found.slope[0], rel=0.1)
    value[100:] = np.nan
    assert grown(value) is None


def test_too_few_readings_are_no_growth():
    at = START + np.arange(0.0, 1201, 300)
    assert grown(40 * GIB + (at - START) / 60 * 0.01 * LIMIT, at=at) is None


def test_the_warm_up_is_left_out():
    value = 40 * GIB + SECOND / 60 * 0.01 * LIMIT
    assert grown(value, since=START + 1150) is None
    assert grown(value, since=START + 600) is not None


def test_of_very_many_rows_that_grow_a_sample_is_computed():
    value = np.tile(40 * GIB + SECOND / 60 * 0.01 * LIMIT, (growth.MOST_ROWS + 10, 1))
    found = grown(value)
    assert (growth.MOST_ROWS + 10, growth.MOST_ROWS) == (found.candidates, len(found.rows))


def test_what_runs_out_within_the_horizon_scores_as_a_warning():
    long = growth.DAY_SECONDS
    assert (3.0, 2.0, growth.LATER) == (
        growth.score(0, long), growth.score(growth.HORIZON_SECONDS, long),
        growth.score(growth.HORIZON_SECONDS + 1, long),
    )  # fmt: skip


def test_what_lasts_a_day_or_has_no_end_is_an_observation():
    long = growth.DAY_SECONDS
    assert growth.LATER == growth.score(growth.DAY_SECONDS, long)
    assert growth.OBSERVED == growth.score(growth.DAY_SECONDS + 1, long)
    assert growth.OBSERVED == growth.score(np.nan, long)


def test_growth_is_drawn_on_only_so_far_as_it_was_seen_for():
    assert 2.0 <= growth.score(growth.REACH * 300, 300)
    assert growth.OBSERVED == growth.score(growth.REACH * 300 + 1, 300)


def test_growth_that_becomes_slower_takes_longer_than_its_rate_says():
    """It still ends: the level that it heads for is beyond the limit."""
    heads_for = 60.0
    value = (40 + heads_for * (1 - np.exp(-SECOND / 3000))) * GIB
    found = grown(value)
    left = float(found.left(LIMIT - found.level)[0][0])
    right = -3000 * np.log(1 - 40 / heads_for) - float(SECOND[-1])
    straight = float((LIMIT - found.level)[0] / found.slope[0])
    assert straight < 0.65 * right
    assert right == pytest.approx(left, rel=0.15)


def test_what_heads_for_a_level_never_uses_up_what_is_beyond_it():
    rate, decay = np.array([1.0, 1.0, 1.0]), np.array([0.01, 0.01, 0.0])
    left = growth.used_up(np.array([50.0, 101.0, 101.0]), rate, decay)
    assert [100 * np.log(2), np.inf, 101.0] == pytest.approx(left.tolist())


def test_growth_began_where_its_line_meets_the_level_of_before():
    at = START + np.arange(0.0, 901, 5)
    value = 100.0 + np.maximum(at - START - 430, 0)
    found = growth.growing(
        readings(at, value[None]), now=START + 900, least=np.ones(1), limit=np.full(1, 1e4)
    )
    assert found is not None
    assert START + 430 == pytest.approx(float(found.begun[0]), abs=8)
