"""When the first report arrives that can show what a fault does."""

import dataclasses

from rankscope.lab.simulator import arrivals
from rankscope.lab.simulator.shape import EPOCH, SimulatedJob

from .machines import broken, scenario


def shown(found):
    """Return the arrivals in seconds after the onset."""
    reports = arrivals.first_reports(found, found.truth)
    return {name: at - found.truth.onset for name, at in reports.items()}


def slow(push, onset=60.0):
    base = scenario(job=SimulatedJob(step_seconds=2.0, hiccups=0.0, cpu_bound=0.3))
    base = dataclasses.replace(base, reporting=dataclasses.replace(base.reporting, push=push))
    return broken("clock_locked", base=base, clock=0.5, onset=onset, host=1, place=0)


def test_a_slow_step_is_reported_when_it_has_ended_and_its_host_sends():
    found = slow(10.0)
    effect = found.truth.effects["slower_10"] - found.truth.onset
    assert effect + 2.0 < shown(found)["slower_10"] < effect + 2.0 * 2 + 10.5


def test_hosts_that_report_often_show_it_with_the_next_step():
    found = slow(1.0)
    effect = found.truth.effects["slower_10"] - found.truth.onset
    assert shown(found)["slower_10"] < effect + 2.0 * 2 + 1.5


def test_steps_of_the_warm_up_show_nothing():
    found = slow(1.0, onset=1.0)
    (attempt,) = found.attempts
    warm = float(attempt.steps.end[attempt.job.warm_up_steps - 1].max())
    assert found.truth.effects["slower_10"] - EPOCH < warm
    assert shown(found)["slower_10"] + found.truth.onset - EPOCH > warm


def test_the_report_after_the_onset_is_the_one_of_a_leak():
    found = broken("host_leak", host=1, place=0, rate=0.03)
    assert {arrivals.ONSET} == set(shown(found))
    assert 0.0 < shown(found)[arrivals.ONSET] < 10.0
