"""Collectives that are slower for everybody: the exchange itself, not a rank that comes late."""

from dataclasses import replace

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.hardware.slow_collectives import SlowCollectivesDetector
from rankscope.detectors.sketch import START, readings, sketch


def found(exchange, own=None, **fields):
    """Evaluate a job whose exchange takes some seconds in each step."""
    own = steady(steps=len(exchange)) if own is None else own
    window = sketch(own, exchange=np.array(exchange), **fields)
    return SlowCollectivesDetector().evaluate(window)


def test_an_exchange_that_takes_longer_is_found_where_it_began():
    finding, _ = found([0.2] * 40 + [0.5] * 20)
    assert 0.5 == pytest.approx(finding.observed, rel=0.1)
    assert 0.2 == pytest.approx(finding.expected, rel=0.1)
    steps = sketch(np.full((4, 60), 0.8), exchange=np.array([0.2] * 40 + [0.5] * 20)).steps
    assert finding.onset[1] == pytest.approx(steps.at[0, 40], abs=3.0)


def test_episodes_that_come_and_go_are_found_between_them_too():
    episode = [0.5] * 10 + [0.2] * 20
    (finding,) = found([0.2] * 60 + episode + episode)
    assert 0.5 == pytest.approx(finding.observed, rel=0.01)
    alone, _ = found([0.2] * 60 + [0.5] * 10)
    assert finding.onset == pytest.approx(alone.onset, abs=1.0)
    assert [] == found([0.2] * 60 + episode)


def test_three_steps_in_a_row_with_a_slow_exchange_slow_the_job():
    _, slow = found([0.2] * 57 + [2.0] * 3)
    assert ("job.slow", "job") == (slow.kind, slow.entity.type)
    assert slow.score >= 1
    assert 2.8 == pytest.approx(slow.magnitude, rel=0.05)
    assert [] == [f for f in found([0.2] * 56 + [2.0, 2.0, 0.2, 2.0]) if f.kind == "job.slow"]


def test_an_exchange_that_is_a_little_longer_is_evidence_and_slows_nobody():
    (finding,) = found([0.2] * 40 + [0.32] * 20)
    assert "job.slow_collectives" == finding.kind


def test_an_exchange_that_is_a_little_longer_while_ports_are_congested_slows_the_job():
    at = START + np.arange(0.0, 321, 5)
    marks = np.cumsum(np.where(at > START + 200, 1000.0, 10.0))
    ports = {"hw.network.congestion|mlx5_0|ecn|1": readings(at, np.stack((marks, marks)))}
    _, slow = found([0.2] * 200 + [0.3] * 100, host_readings=ports)
    assert "job.slow" == slow.kind
    assert slow.score >= 1
    assert 1.1 == pytest.approx(slow.magnitude, rel=0.05)


@pytest.mark.parametrize(
    ("longer", "kinds"),
    [(0.1, ["job.slow_collectives", "job.slow"]), (0.0, []), (0.02, [])],
)
def test_minutes_of_steps_show_together_what_hides_in_the_noise_of_a_single_one(longer, kinds):
    """Exchanges stray by a quarter; a tenth of the step more is seen in none of them alone."""
    exchange = np.random.default_rng(5).lognormal(np.log(0.2), 0.25, 500)
    exchange[300:] += longer
    assert kinds == [one.kind for one in found(exchange)]


def test_an_exchange_that_has_been_as_long_before_is_no_finding():
    exchange = np.random.default_rng(5).lognormal(np.log(0.2), 0.25, 500)
    exchange[100:160] += 0.1
    exchange[300:] += 0.1
    assert [] == found(exchange)


def test_an_exchange_that_grows_little_by_little_is_no_finding():
    exchange = np.random.default_rng(5).lognormal(np.log(0.2), 0.25, 500)
    assert [] == found(exchange + np.linspace(0, 0.1, 500))


def test_a_rank_that_comes_late_makes_the_others_wait_and_not_the_exchange_longer():
    own = steady()
    own[2, 40:] *= 1.5
    assert [] == found([0.2] * 60, own)


@pytest.mark.parametrize(
    ("newest", "kinds"), [(30, []), (90, ["job.slow_collectives", "job.slow"])]
)
def test_steps_that_the_last_ranks_have_yet_to_report_show_no_exchange(newest, kinds):
    """They may be the ones that come last. One that reports nothing for a minute is not awaited."""
    own = steady(steps=60 + newest)
    own[2:, 60:] *= 1.5
    window = sketch(own, exchange=np.full(own.shape[1], 0.2))
    for plane in (window.steps.at, *window.steps.planes.values()):
        plane[2:, 60:] = np.nan
    findings = SlowCollectivesDetector().evaluate(replace(window, steps=window.steps))
    assert kinds == [finding.kind for finding in findings]


def test_an_exchange_that_was_as_long_all_along_is_no_finding():
    assert [] == found([0.5] * 60)


def test_a_single_long_exchange_is_no_finding():
    assert [] == found([0.2] * 55 + [3.0] + [0.2] * 4)


def test_noise_of_the_exchange_hides_a_small_excess():
    noise = np.random.default_rng(5).uniform(0.1, 0.5, 60)
    noise[40:] += 0.06
    assert [] == found(noise.tolist())
