"""Hosts on which the job's processes do not get the CPU time they need."""

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.hardware.cpu_time import CpuTimeDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import PeriodicReadings

WAIT = "process.cpu.wait"
QUOTA = "container.cpu.throttled"
STEAL = "system.cpu.steal"
PRESSURE = "system.pressure|some|cpu"
BUSY = "system.cpu.utilization"


def every(seconds=5.0, *, until=120.0):
    return START + np.arange(0.0, until + 1, seconds)


def changing(before, since, begin):
    return np.where(every() > START + begin, np.array(since)[:, None], np.array(before)[:, None])


def growing(before, since, begin=60):
    """Draw counters: seconds a second, before and since a second."""
    return readings(every(), np.cumsum(changing(before, since, begin) * 5.0, axis=1))


@pytest.fixture
def level():
    """Return a function that draws gauges, before and since a second."""
    return lambda before, since, begin=60: readings(every(), changing(before, since, begin))


def evaluated(by_rank=None, by_host=None, **fields):
    """Evaluate a job of four ranks on two hosts by its readings."""
    window = sketch(
        steady(),
        rank_readings=by_rank or {},
        host_readings=by_host or {},
        now=START + 120,
        **fields,
    )
    return CpuTimeDetector().evaluate(window)


def test_ranks_that_wait_for_a_cpu_accuse_their_host_from_the_second_it_began():
    waits = growing([0.01] * 4, [0.6, 0.6, 0.01, 0.01])

    (finding,) = evaluated({WAIT: waits})

    assert ("host.cpu_wait", "host-0", (0, 1)) == (
        finding.kind,
        finding.entity.id,
        tuple(finding.entity.ranks),
    )
    assert (START + 60, START + 65) == finding.onset
    assert finding.magnitude == pytest.approx(0.6)
    assert "60%" in finding.text


def test_a_quota_that_stops_containers_accuses_their_host():
    (finding,) = evaluated({QUOTA: growing([0.0] * 4, [0.0, 0.0, 0.5, 0.5])})
    assert ("host.cpu_throttled", "host-1") == (finding.kind, finding.entity.id)
    assert (START + 60, START + 65) == finding.onset


def test_a_quota_told_for_the_host_alone_counts_as_well():
    (finding,) = evaluated(by_host={QUOTA: growing([0.0, 0.0], [0.5, 0.0])})
    assert ("host.cpu_throttled", "host-0") == (finding.kind, finding.entity.id)


def test_a_hypervisor_that_takes_cpus_accuses_the_host():
    (finding,) = evaluated(by_host={STEAL: growing([0.0, 0.01], [2.0, 0.01])})
    assert ("host.cpu_steal", "host-0") == (finding.kind, finding.entity.id)
    assert finding.magnitude == pytest.approx(2.0)


def test_a_host_busier_than_its_peers_and_than_before_is_named(level):
    (finding,) = evaluated(by_host={BUSY: level([0.3, 0.3], [0.98, 0.3])})
    assert ("host.cpu_busy", "host-0") == (finding.kind, finding.entity.id)
    assert (START + 60, START + 65) == finding.onset


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param([0.3, 0.3], [0.98, 0.98], id="a job that loads every host alike"),
        pytest.param([0.97, 0.3], [0.98, 0.3], id="a host that was always that busy"),
        pytest.param([0.3, 0.3], [0.8, 0.3], id="a host that is not full"),
    ],
)
def test_load_must_exceed_both_the_peers_and_the_past(level, before, since):
    assert [] == evaluated(by_host={BUSY: level(before, since)})


def test_tasks_that_wait_on_one_host_accuse_it_where_no_process_tells(level):
    """The pressure of a host rises before any of the job's own processes has waited for long."""
    (finding,) = evaluated(by_host={PRESSURE: level([0.01, 0.01], [0.4, 0.01])})
    assert ("host.cpu_wait", "host-0", 1.5) == (finding.kind, finding.entity.id, finding.score)


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param([0.01, 0.01], [0.4, 0.4], id="a job that wants more CPUs everywhere"),
        pytest.param([0.4, 0.01], [0.4, 0.01], id="a host that always had more tasks than CPUs"),
    ],
)
def test_pressure_must_exceed_both_the_peers_and_the_past(level, before, since):
    assert [] == evaluated(by_host={PRESSURE: level(before, since)})


def test_a_host_is_told_once_by_the_better_sign(level):
    waits = growing([0.01] * 4, [0.6, 0.6, 0.01, 0.01])
    found = evaluated({WAIT: waits}, {PRESSURE: level([0.01, 0.01], [0.8, 0.01])})
    assert [WAIT] == [finding.signal for finding in found]


def test_wait_on_every_host_counts_against_the_past():
    findings = evaluated({WAIT: growing([0.01] * 4, [0.5] * 4, begin=95)})
    assert ["host-0", "host-1"] == [f.entity.id for f in findings]


def test_wait_from_the_first_second_counts_against_the_peers():
    (finding,) = evaluated({WAIT: growing([0.5, 0.5, 0.01, 0.01], [0.5, 0.5, 0.01, 0.01])})
    assert "host-0" == finding.entity.id
    assert (START, START + 5) == finding.onset


def test_wait_that_is_as_ever_everywhere_is_normal_life():
    assert [] == evaluated({WAIT: growing([0.2] * 4, [0.2] * 4)})


def test_little_wait_is_normal_life_however_often_it_grew():
    assert [] == evaluated({WAIT: growing([0.001] * 4, [0.07] * 2 + [0.001] * 2)})


def test_one_waiting_rank_of_three_is_no_sign_for_its_host():
    waits = growing([0.01] * 6, [0.6] + [0.01] * 5)
    window = sketch(steady(ranks=6), rank_readings={WAIT: waits}, now=START + 120)
    assert [] == CpuTimeDetector().evaluate(window)


def test_a_single_host_without_a_past_is_judged_by_the_least_alone():
    at = every(until=15)
    waits = readings(at, np.cumsum(np.full((4, len(at)), 2.5), axis=1))
    window = sketch(steady(), hosts=1, rank_readings={WAIT: waits}, now=START + 15)

    (finding,) = CpuTimeDetector().evaluate(window)

    assert ("host-0", 0.08) == (finding.entity.id, finding.expected)


def test_counters_read_every_half_minute_are_given_a_longer_stretch():
    at = START + np.arange(0.0, 301, 30)
    rates = np.where((at > START + 150)[None, :], [[0.6], [0.6], [0.01], [0.01]], 0.01)
    waits = readings(at, np.cumsum(rates * 30, axis=1))

    (finding,) = CpuTimeDetector().evaluate(
        sketch(steady(), rank_readings={WAIT: waits}, now=START + 300)
    )

    assert "host-0" == finding.entity.id
    assert (START + 150, START + 180) == finding.onset


def test_a_counter_that_began_again_counts_its_growth_since():
    waits = growing([0.01] * 4, [0.01] * 4)
    waits.value[:, 22:] = 0.001
    assert [] == evaluated({WAIT: waits})


def test_contention_that_is_over_is_no_finding():
    waits = growing([0.6] * 2 + [0.01] * 2, [0.01] * 4)
    assert [] == evaluated({WAIT: waits})


def test_contention_far_shorter_than_the_reporting_period_cannot_be_seen():
    """The docstring's failure mode: two seconds of full wait in half a minute of readings."""
    at = START + np.arange(0.0, 301, 30)
    waits = np.cumsum(np.full((4, len(at)), 0.3), axis=1)
    waits[:2, -1] += 2.0
    window = sketch(steady(), rank_readings={WAIT: readings(at, waits)}, now=START + 300)
    assert [] == CpuTimeDetector().evaluate(window)


@pytest.mark.parametrize("shape", [(4, 0), (4, 3)])
def test_readings_that_hold_nothing_are_no_finding(shape):
    nothing = readings(np.full(shape[1], np.nan), np.full(shape, np.nan))
    assert [] == evaluated({WAIT: nothing}, {BUSY: nothing})


def test_one_reading_of_a_counter_says_nothing():
    assert [] == evaluated({WAIT: readings(every(until=0), np.full((4, 1), 1e6))})


def test_a_rank_whose_host_nobody_knows_accuses_nobody():
    waits = growing([0.01] * 4, [0.6, 0.6, 0.01, 0.01])
    assert [] == evaluated({WAIT: waits}, host_of=np.full(4, -1))


def test_the_order_of_readings_in_a_ring_does_not_matter():
    waits = growing([0.01] * 4, [0.6, 0.6, 0.01, 0.01])
    turned = PeriodicReadings(np.roll(waits.at, 9, axis=1), np.roll(waits.value, 9, axis=1))
    assert evaluated({WAIT: waits}) == evaluated({WAIT: turned})
