"""Ranks that a synchronous job waits for: who is named, since when, and what they cost."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors import compute_time
from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import sketch
from rankscope.detectors.speed.stragglers import StragglersDetector

COMPUTE = "training.compute.duration"


def test_the_slow_rank_is_named_with_the_step_it_began_at(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)

    findings = StragglersDetector().evaluate(window)

    at = window.steps.at[0]
    slow = next(f for f in findings if f.kind == "rank.slow_compute")
    assert ("2", "host-1") == (slow.entity.id, slow.entity.host)
    assert (at[39], at[40]) == slow.onset
    assert slow.magnitude == pytest.approx(1.3, abs=0.02)
    assert COMPUTE == slow.signal


def test_the_rank_that_its_peers_wait_for_waits_least(steady, named):
    own = steady()
    own[2, 40:] *= 1.3

    findings = StragglersDetector().evaluate(sketch(own))

    assert ["2"] == named(findings, "rank.waits_least")
    waits = next(f for f in findings if f.kind == "rank.waits_least")
    assert waits.magnitude == pytest.approx(0.24, abs=0.01)


def test_the_job_is_slow_by_what_its_slow_rank_adds(steady):
    own = steady()
    own[2, 40:] *= 1.3
    window = sketch(own)

    job = next(f for f in StragglersDetector().evaluate(window) if f.kind == "job.slow")

    assert (window.steps.at[0, 39], window.steps.at[0, 40]) == job.onset
    assert job.magnitude == pytest.approx(1.23, abs=0.02)


def test_two_ranks_of_one_host_are_both_named(steady, named):
    own = steady(ranks=8)
    own[2:4, 40:] *= 1.4
    findings = StragglersDetector().evaluate(sketch(own, hosts=4))
    assert ["2", "3"] == named(findings, "rank.slow_compute")


@pytest.mark.parametrize(
    ("seconds", "slow"),
    [(1, slice(40, 60)), (5, slice(57, 60)), (1, slice(0, 60))],
    ids=["lately", "in three long steps", "from the start"],
)
def test_nobody_is_named_below_what_the_settings_ask_for(steady, named, seconds, slow):
    own = steady(ranks=8) * seconds
    own[2, slow] *= 1.4
    window = sketch(own)

    for least in (0.3, 0.5):
        asked = StragglersDetector(least=least, least_small=least, least_from_start=least)
        found = named(asked.evaluate(window), "rank.slow_compute")
        assert (["2"] if least < 0.4 else []) == found


def test_slowness_that_comes_again_is_not_named_below_what_the_settings_ask_for(steady, named):
    own = steady(ranks=8, steps=420)
    for begin in (100, 200, 300):
        own[3, begin : begin + 40] *= 1.4
    gap = sketch(own[:, :400])

    assert ["3"] == named(StragglersDetector(least=0.3).evaluate(gap), "rank.slow_compute")
    assert [] == StragglersDetector(least=0.5).evaluate(gap)


def test_slowness_that_comes_and_goes_stays_one_finding_through_the_gaps(steady, named):
    own = steady(ranks=8, steps=420)
    for begin in (100, 200, 300):
        own[3, begin : begin + 40] *= 1.4
    window = sketch(own)
    since = set()
    for end in range(245, 420, 5):
        findings = StragglersDetector().evaluate(sketch(own[:, :end]))
        assert ["3"] == named(findings, "rank.slow_compute"), end
        since |= {f.onset[1] for f in findings if f.kind in ("job.slow", "rank.slow_compute")}
    assert {window.steps.at[0, 100]} == since


def test_a_rank_of_noisy_peers_is_slow_where_it_stands_far_above_them(named):
    own = 2.7 * np.random.default_rng(5).normal(1.0, 0.05, (16, 80))
    own[3, 60:] *= 1.3

    assert ["3"] == named(StragglersDetector().evaluate(sketch(own)), "rank.slow_compute")


@pytest.mark.parametrize(
    ("factors", "pauses", "kinds"),
    [
        pytest.param((1.02, 0.91), 0, {"rank.slow_compute"}, id="its peer was fast five times"),
        pytest.param(
            (1.02, 0.91),
            3,
            {"rank.slow_compute"},
            id="it was, and most steps hold pauses",
        ),
        pytest.param((1.12, 1.0), 0, {"rank.slow_compute", "job.slow"}, id="the steps grew"),
        pytest.param(
            (1.12, 1.0),
            2,
            {"rank.slow_compute", "job.slow"},
            id="those without pauses grew",
        ),
    ],
)
def test_a_rank_barely_beyond_chance_slows_the_job_only_where_its_steps_take_longer(
    factors, pauses, kinds
):
    """Two replicas, which differ by 2.7 % from step to step."""
    own = 3.5 * np.random.default_rng(4).normal(1.0, 0.027, (2, 200))
    held = JobBaselines()
    for end in range(20, 196, 5):
        held.learn(sketch(own[:, :end], hosts=1).features)
    own[:, 195:] = 3.5 * np.array(factors)[:, None]
    window = sketch(own, hosts=1, held_baselines=held)
    window.steps.plane(compute_time.STEP)[:, 200 - pauses :] += 20.0
    found = {f.kind for f in StragglersDetector().evaluate(window)}
    assert kinds == found - {"rank.waits_least"}


def test_the_job_is_slow_since_the_ranks_that_cost_most_became_slow(steady):
    own = steady(ranks=8, steps=160)
    own[1, 110:] *= 1.05
    own[2, 150:] *= 1.4
    window = sketch(own)
    (slow,) = (f for f in StragglersDetector().evaluate(window) if f.kind == "job.slow")
    assert window.steps.at[0, 150] == slow.onset[1]


@pytest.mark.parametrize(
    ("grown", "named"),
    [
        pytest.param((1.08, 1.0), [0, 1, 2, 3], id="one of two hosts"),
        pytest.param((1.08, 1.08), [], id="all of the job, as sequences do"),
        pytest.param((1.0, 1.0), [], id="nobody"),
    ],
)
def test_a_slow_host_that_holds_whole_roles_is_seen_by_its_own_past(steady, grown, named):
    """Two ranks of each stage, and two stages a host: no peer of a stage is elsewhere."""
    own = steady(ranks=8, steps=120) * np.repeat([0.9, 1.0, 1.1, 1.0], 2)[:, None]
    own[:, 60:] *= np.repeat(grown, 4)[:, None]
    window = replace(sketch(own), role_of=np.repeat(np.arange(4), 2))
    found = StragglersDetector().evaluate(window)
    slow = [f.entity.id for f in found if f.kind == "rank.slow_compute"]
    assert [str(rank) for rank in named] == sorted(slow)
