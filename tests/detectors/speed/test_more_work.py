"""Steps that take longer while nobody reports tokens: more work, or more waiting."""

import numpy as np
import pytest

from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.speed.slow_steps import SlowStepsDetector

WAITED = 0.2
"""Seconds of a step in which the gradients are exchanged, however large the batch is."""


@pytest.fixture
def score():
    """Return a function that scores steps which grow in levels by work or by waiting.

    works, waits: [steps], seconds of calculation, and of waiting beyond the exchange. of: what is
    reported of devices. lowered: share of the power that devices draw in the last third. fields:
    those of the window.
    """

    def evaluate(works, waits, *, of=("hw.gpu.sm.activity", "hw.power"), lowered=1.0, **fields):
        rng = np.random.default_rng(3)
        duration = works + waits + WAITED + rng.normal(0, 0.005, len(works))
        ends = np.cumsum(duration)
        at = np.arange(5.0, ends[-1], 5.0)
        share = np.interp(at, ends, works / duration)
        share = share + rng.normal(0, 0.01, (4, len(at)))
        power = (150 + 400 * share) * np.where(at > ends[2 * len(ends) // 3], lowered, 1.0)
        values = {"hw.gpu.sm.activity": 0.9 * share, "hw.power": power}
        window = sketch(
            np.tile(duration, (4, 1)),
            exchange=0.0,
            rank_readings={name: readings(START + at, values[name]) for name in of},
            **fields,
        )
        return [found.score for found in SlowStepsDetector().evaluate(window)]

    return evaluate


def levels(*heights):
    return np.repeat(heights, 60)


def test_a_batch_that_is_raised_in_stages_is_no_slowness(score):
    """All devices calculate for more of the time, as the exchange takes as long as ever."""
    (found,) = score(levels(0.8, 0.95, 1.1), levels(0.0, 0.0, 0.0))
    assert found < 1


def test_steps_that_grow_by_what_is_waited_for_are_slow(score):
    (found,) = score(levels(0.8, 0.8, 0.8), levels(0.0, 0.15, 0.3))
    assert found > 1


@pytest.mark.parametrize("of", [(), ("hw.power",)], ids=["nothing", "power alone"])
def test_where_nobody_says_what_devices_calculate_nothing_separates_them(score, of):
    (found,) = score(levels(0.8, 0.95, 1.1), levels(0.0, 0.0, 0.0), of=of)
    assert found > 1


def test_devices_that_draw_less_as_steps_grow_do_no_more_work(score):
    """Lower clocks keep devices as active as before."""
    (found,) = score(levels(0.8, 0.8, 1.0), levels(0.0, 0.0, 0.0), lowered=0.8)
    assert found > 1


@pytest.mark.parametrize(
    ("late", "quiet"), [(2, False), (4, True)], ids=["half of the ranks work", "all of them do"]
)
def test_steps_in_which_some_ranks_only_wait_for_longer_hold_no_more_work(late, quiet):
    """One host is short of CPUs: its devices, and those that wait, look as busy as ever."""
    own = np.random.default_rng(3).normal(0.8, 0.004, (4, 180))
    own[:late, 60:] *= 1.15
    at = START + np.arange(5.0, 180.0, 5.0)
    busy = {"hw.gpu.sm.activity": readings(at, np.full((4, len(at)), 0.8))}
    (found,) = SlowStepsDetector().evaluate(sketch(own, rank_readings=busy))
    assert quiet == (found.score < 1)


def test_after_a_change_of_code_kernels_may_do_the_same_in_more_time(score, event):
    changed = event("change", 58.0, host="host-0", kind="code", text="train.py: 3f2a91c -> 81bd0e2")
    (found,) = score(levels(0.8, 0.95, 1.1), levels(0.0, 0.0, 0.0), events=(changed,))
    assert found > 1
