"""The next check: what tells the leading causes apart best for what it costs."""

import pytest
from tests.alerts.explaining import EVERYTHING

from rankscope.alerts.causes.catalogue import CauseAdvice, catalogue
from rankscope.alerts.causes.checks import gain
from rankscope.alerts.causes.engine import explain
from rankscope.vocabulary.ids import Fault

ONE, OTHER, THIRD = Fault("gpu.slow"), Fault("host.cpu_contention"), Fault("gpu.pcie_degraded")


def advice(*separates, minutes=5.0):
    return CauseAdvice("look", "", separates=separates, minutes=minutes)


def test_a_check_that_separates_the_leading_causes_gains_more_than_one_that_does_not():
    shares = {ONE: 0.5, OTHER: 0.4, THIRD: 0.1}
    assert gain(ONE, advice(OTHER), shares) > gain(ONE, advice(THIRD), shares)


def test_a_check_gains_nothing_where_only_one_cause_is_left():
    assert gain(ONE, advice(OTHER), {ONE: 1.0, OTHER: 0.0}) == pytest.approx(0.0)


def test_two_equally_likely_causes_are_worth_about_half_a_bit():
    """1 bit less the entropy of a check that is right nine times in ten."""
    assert gain(ONE, advice(OTHER), {ONE: 0.5, OTHER: 0.5}) == pytest.approx(0.531, abs=1e-3)


def test_of_two_checks_the_cheaper_comes_first(topology, found):
    """Reading the clocks takes two minutes, a matrix multiplication on a device fifteen."""
    slow = found("rank.slow_compute", topology.rank_entity(2))
    steps = frozenset({"training.step.duration"})
    cause = explain([found("job.slow", topology.job_entity), slow], topology, observed=steps)
    first, second = cause.next_checks
    assert ("gpu.thermal_throttle", "gpu.slow") == (first.separates[0], second.separates[0])


def test_nobody_is_asked_to_check_what_is_all_but_ruled_out(topology, found):
    """Where devices are watched, one that is throttled leaves no doubt about the others."""
    slow = found("rank.slow_compute", topology.rank_entity(2))
    findings = [found("job.slow", topology.job_entity), slow]
    throttled = found("gpu.throttled", topology.gpu_entity(2))
    cause = explain([*findings, throttled], topology, observed=EVERYTHING)
    chance = cause.hypotheses[1].probability
    assert chance is not None
    assert chance < 0.001
    assert {"gpu.thermal_throttle"} == {check.separates[0] for check in cause.next_checks}


def test_every_check_says_what_it_costs():
    costs = [check.minutes for cause in catalogue().causes for check in cause.checks]
    assert min(costs) >= 1
    assert max(costs) <= 60
