"""Hosts whose clock left their peers', seen by when the job's steps end on them."""

import dataclasses

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors import compute_time
from rankscope.detectors.hardware.step_clocks import StepClocksDetector
from rankscope.detectors.sketch import sketch

RANKS = 8


def found(moved, *, hosts=2, longer=None, gaps=None, reported=slice(None), usual=1.0):
    """Return (host, seconds) where ranks date their steps differently."""
    window = sketch(usual * steady(ranks=RANKS, steps=80), hosts=hosts, gaps=gaps)
    at, planes = window.steps.at.copy(), dict(window.steps.planes)
    for row, ahead in moved.items():
        at[row] += ahead
    if longer is not None:
        planes[compute_time.STEP] = planes[compute_time.STEP] + longer
    hidden = np.ones(at.shape[1], np.bool_)
    hidden[reported] = False
    at[:, hidden] = np.nan
    steps = dataclasses.replace(window.steps, at=at, planes=planes)
    findings = StepClocksDetector().evaluate(dataclasses.replace(window, steps=steps))
    return [
        (f.entity.id, round(f.magnitude * (1 if "ahead" in f.text else -1), 1)) for f in findings
    ]


def jump(seconds, at=40, steps=80):
    """Return [steps], a clock that jumps at a step."""
    return np.where(np.arange(steps) >= at, seconds, 0.0)


@pytest.mark.parametrize("seconds", [0.7, -2.0])
@pytest.mark.parametrize("hosts", [2, 4])
def test_a_clock_that_is_moved_is_seen_by_the_ends_of_the_hosts_steps(hosts, seconds):
    ranks = range(RANKS // hosts)
    assert [("host-0", seconds)] == found(dict.fromkeys(ranks, jump(seconds)), hosts=hosts)


@pytest.mark.parametrize(
    ("seconds", "named"),
    [
        pytest.param(0.3, [], id="ends of long steps differ by so much"),
        pytest.param(0.7, [("host-0", 0.7)], id="but not by a tenth of a step"),
    ],
)
def test_the_ends_of_long_steps_are_no_exact_clock(seconds, named):
    assert named == found(dict.fromkeys(range(4), jump(seconds)), usual=8.0)


def test_a_clock_that_drifts_away_is_seen_too():
    drift = np.clip((np.arange(80) - 30) / 20, 0, 1) * 3.0
    assert [("host-1", 3.0)] == found(dict.fromkeys(range(4, 8), drift))


def test_a_checkpoint_between_steps_moves_no_clock():
    assert [] == found({}, gaps={40: 20.0})
    assert [("host-1", 0.7)] == found(dict.fromkeys(range(4, 8), jump(0.7)), gaps={60: 20.0})


def test_a_rank_that_ends_its_steps_later_than_its_host_is_no_clock():
    assert [] == found({0: jump(2.0)})


def test_a_host_that_takes_longer_has_a_clock_that_is_right():
    took = np.zeros((RANKS, 80))
    took[:4, 40] = 2.0
    assert [] == found(dict.fromkeys(range(4), jump(2.0)), longer=took)


def test_a_clock_that_was_always_off_and_milliseconds_are_left_alone():
    assert [] == found(dict.fromkeys(range(4), jump(2.0, at=0)))
    assert [] == found(dict.fromkeys(range(4), jump(0.05)))


def test_steps_dated_by_their_report_tell_no_time():
    drawn = np.random.default_rng(7).uniform(0, 20, (RANKS, 80))
    assert [] == found({row: drawn[row] + jump(2.0) * (row < 4) for row in range(RANKS)})


def test_steps_reported_now_and_then_show_nothing():
    assert [] == found(dict.fromkeys(range(4), jump(2.0)), reported=slice(None, None, 9))


def test_a_step_that_few_hosts_have_reported_dates_no_move():
    window = sketch(steady(ranks=RANKS, steps=80), hosts=4)
    at = window.steps.at.copy()
    at[:2] += jump(2.0)
    at[2:, -1] = np.nan
    steps = dataclasses.replace(window.steps, at=at)
    (one,) = StepClocksDetector().evaluate(dataclasses.replace(window, steps=steps))
    ends = compute_time.step_ends(window.steps)
    assert ends[39] == one.onset[0]
