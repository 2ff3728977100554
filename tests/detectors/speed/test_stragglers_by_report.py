"""Who is slow where a part of what ranks could tell of their steps is not reported."""

import numpy as np
import pytest

from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"
DURATION = "training.step.duration"


def test_a_step_that_the_slow_rank_did_not_tell_leaves_its_onset_finite(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.at[2, 39] = np.nan

    slow = next(f for f in StragglersDetector().evaluate(window) if f.kind == "rank.slow_compute")

    assert (window.steps.at[2, 38], window.steps.at[2, 40]) == slow.onset


def test_a_value_that_the_slow_rank_did_not_tell_does_not_hide_it(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    own[2, 55] = np.nan
    assert ["2"] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


def test_own_time_is_the_step_less_the_wait_where_nobody_tells_compute(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[COMPUTE]  # type: ignore[attr-defined]

    findings = StragglersDetector().evaluate(window)

    assert ["2"] == named(findings, "rank.slow_compute")
    assert DURATION == next(f for f in findings if f.kind == "rank.slow_compute").signal


def test_step_durations_alone_accuse_nobody(steady):
    """In a synchronous job every rank's step takes as long as the slowest one's."""
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    for name in (COMPUTE, COMM):
        del window.steps.planes[name]  # type: ignore[attr-defined]
    assert [] == StragglersDetector().evaluate(window)


def test_where_nobody_tells_waits_the_slow_rank_is_named_all_the_same(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[COMM]  # type: ignore[attr-defined]
    assert ["job.slow", "rank.slow_compute"] == [
        f.kind for f in StragglersDetector().evaluate(window)
    ]


def test_where_nobody_tells_durations_own_work_alone_says_what_is_lost(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    del window.steps.planes[DURATION]  # type: ignore[attr-defined]

    findings = StragglersDetector().evaluate(window)

    assert ["job.slow", "rank.slow_compute", "rank.waits_least"] == [f.kind for f in findings]
    assert findings[0].expected == pytest.approx(0.8, abs=0.02)


def test_durations_that_vanish_are_stood_in_for(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.planes[DURATION][:, 42:] = np.nan
    found = [f.kind for f in StragglersDetector().evaluate(window)]
    assert ["job.slow", "rank.slow_compute", "rank.waits_least"] == found


def test_work_and_waits_of_no_length_prove_nothing(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own, planes={COMM: np.zeros(own.shape), DURATION: np.zeros(own.shape)})
    assert ["rank.slow_compute"] == [f.kind for f in StragglersDetector().evaluate(window)]


def test_waits_of_the_slow_rank_alone_prove_nothing(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)
    window.steps.planes[COMM][[0, 1, 3]] = np.nan
    findings = StragglersDetector().evaluate(window)
    assert ["2"] == named(findings, "rank.slow_compute")
    assert [] == named(findings, "rank.waits_least")


def test_a_slow_rank_that_waits_as_long_as_its_peers_is_not_waited_for(steady, named):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own, planes={COMM: np.full(own.shape, 0.3)})
    assert [] == named(StragglersDetector().evaluate(window), "rank.waits_least")


def test_work_that_is_a_sliver_of_the_step_does_not_make_the_job_slow(steady):
    own = steady(seconds=0.05)
    own[2, 40:] *= 1.3
    findings = StragglersDetector().evaluate(sketch(own, exchange=5.0))
    assert ["rank.slow_compute"] == [f.kind for f in findings]
