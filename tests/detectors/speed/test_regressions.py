"""Job-wide slowness joined with the change it begins with."""

from dataclasses import replace

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.speed.regressions import RegressionsDetector

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"


def kinds(findings):
    return {finding.kind for finding in findings}


@pytest.fixture
def slower(steady):
    """Return 80 steps of own work of 4 ranks that all need a quarter more from step 50 on."""
    own = steady(steps=80)
    own[:, 50:] *= 1.25
    return own


def test_slowness_just_after_a_change_is_joined_with_it(slower, event):
    changed = event("change", 45, kind="config", text="activation checkpointing on")
    found = RegressionsDetector().evaluate(sketch(slower, events=(changed,)))
    assert {"job.slow_compute", "job.slow_since_change"} == kinds(found)
    (since,) = (f for f in found if f.kind == "job.slow_since_change")
    assert "config: activation checkpointing on" in since.text


@pytest.mark.parametrize(
    "at", [pytest.param(70, id="after the first slow step"), pytest.param(-200, id="long before")]
)
def test_a_change_at_another_time_is_not_what_it_began_with(slower, event, at):
    found = RegressionsDetector().evaluate(
        sketch(slower, events=(event("change", at, kind="code"),))
    )
    assert {"job.slow_compute"} == kinds(found)


def test_a_change_without_slowness_is_no_finding(steady, event):
    window = sketch(steady(steps=80), events=(event("change", 45, kind="code"),))
    assert [] == RegressionsDetector().evaluate(window)


def test_one_slow_rank_is_no_slow_compute_of_the_job(steady):
    own = steady(steps=80)
    own[2, 50:] *= 1.3
    assert set() == kinds(RegressionsDetector().evaluate(sketch(own)))


def test_communication_that_grew_is_told_from_work_that_did(steady):
    own = steady(steps=80)
    wait = np.full(own.shape, 0.2)
    wait[:, 50:] = 0.5
    window = sketch(own, exchange=0.2, planes={COMM: wait, "training.step.duration": own + wait})
    at = START + np.cumsum((own + wait).max(axis=0))
    window = replace(window, steps=replace(window.steps, at=np.tile(at, (4, 1))), now=float(at[-1]))
    assert {"job.slow_comm"} == kinds(RegressionsDetector().evaluate(window))


def test_durations_of_steps_alone_say_nothing_of_their_parts(slower):
    window = sketch(slower)
    for name in (COMPUTE, COMM):
        del window.steps.planes[name]  # type: ignore[attr-defined]
    assert [] == RegressionsDetector().evaluate(window)


def test_an_attempt_slow_from_its_start_is_joined_with_the_change_before_it(steady, event):
    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(sketch(steady(steps=90)).features)
    later.before = earlier.pace
    own = steady(steps=90) * 1.15
    window = sketch(
        own, events=(event("change", -300, kind="image"),), attempt=1, attempt_started_at=START - 20
    )
    found = RegressionsDetector().evaluate(replace(window, held_baselines=later))
    assert {"job.slow_since_change"} == kinds(found)


@pytest.mark.parametrize(
    ("exchange", "grown", "said"),
    [
        pytest.param(0.35, 1.0, True, id="more than three times as long"),
        pytest.param(0.2, 1.0, False, id="twice as much may be sent"),
        pytest.param(0.35, 1.3, False, id="work grew as well"),
    ],
)
def test_a_restart_that_makes_the_exchange_alone_far_longer_chose_another_transport(
    steady, exchange, grown, said
):
    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(sketch(steady(steps=90), exchange=0.1).features)
    later.before = earlier.pace
    window = sketch(grown * steady(steps=90), exchange=exchange, attempt=1)
    found = kinds(RegressionsDetector().evaluate(replace(window, held_baselines=later)))
    assert "job.slow_since_restart" in found
    assert said == ("job.exchange_since_restart" in found)


def test_an_attempt_slower_than_the_one_before_is_slow_since_its_restart(steady):
    earlier, later = JobBaselines(), JobBaselines()
    earlier.learn(sketch(steady(steps=80)).features)
    later.before = earlier.pace
    window = replace(sketch(1.2 * steady(steps=80), attempt=1), held_baselines=later)
    assert {"job.slow_since_restart"} == kinds(RegressionsDetector().evaluate(window))
