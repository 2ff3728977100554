"""CPU time that is withheld for long is worth knowing before any step shows what it costs."""

import numpy as np
import pytest
from tests.detectors.drawn import steady

from rankscope.detectors.hardware.cpu_time import CpuTimeDetector
from rankscope.detectors.sketch import START, readings, sketch

WAIT = "process.cpu.wait"
QUOTA = "container.cpu.throttled"
STEAL = "system.cpu.steal"
BUSY = "system.cpu.utilization"


def counter(since, *, begin, until, before=0.001):
    """Return a counter of each row: seconds a second, before and since a second."""
    at = START + np.arange(0.0, until + 1, 5)
    rate = np.where(at > START + begin, np.array(since)[:, None], before)
    return readings(at, np.cumsum(rate * 5.0, axis=1))


def withheld(by_rank, by_host=None, *, until=200, hosts=4):
    """Evaluate eight ranks on four hosts, and what they withhold."""
    window = sketch(
        steady(ranks=8, steps=until),
        hosts=hosts,
        rank_readings=by_rank,
        host_readings=by_host or {},
        now=START + until,
    )
    return [f for f in CpuTimeDetector().evaluate(window) if f.kind == "host.cpu_withheld"]


def test_a_quota_that_stops_one_hosts_containers_for_a_minute_is_worth_knowing():
    quota = counter([0.06, 0.06] + [0.0] * 6, begin=100, until=200, before=0.0)

    (finding,) = withheld({QUOTA: quota})

    assert ("host-0", (0, 1), (START + 100, START + 105)) == (
        finding.entity.id,
        tuple(finding.entity.ranks),
        finding.onset,
    )
    assert finding.score < 1


def test_a_quota_that_has_just_begun_to_stop_containers_is_not_yet():
    quota = counter([0.06, 0.06] + [0.0] * 6, begin=100, until=140, before=0.0)
    assert [] == withheld({QUOTA: quota}, until=140)


def test_a_quota_that_always_stopped_containers_is_no_news():
    quota = counter([0.3, 0.3] + [0.1] * 6, begin=100, until=200, before=0.1)
    assert [] == withheld({QUOTA: quota})


@pytest.mark.parametrize(
    ("beside", "named"),
    [
        pytest.param({}, [], id="waiting alone may have many reasons"),
        pytest.param({STEAL: [0.5, 0.0, 0.0, 0.0]}, ["host-0"], id="the hypervisor has the CPUs"),
        pytest.param({STEAL: [0.0, 0.5, 0.0, 0.0]}, [], id="the hypervisor has another host's"),
    ],
)
def test_processes_that_wait_need_a_second_sign(beside, named):
    waits = counter([0.3, 0.3] + [0.001] * 6, begin=100, until=200)
    hosts = {name: counter(rate, begin=100, until=200) for name, rate in beside.items()}
    assert named == [found.entity.id for found in withheld({WAIT: waits}, hosts)]


def test_processes_that_wait_while_others_fill_the_cpus_are_held_back():
    waits = counter([0.3, 0.3] + [0.001] * 6, begin=100, until=200)
    at = START + np.arange(0.0, 201, 5)
    busy = np.where(at > START + 100, [[0.98], [0.3], [0.3], [0.3]], 0.3)
    (finding,) = withheld({WAIT: waits}, {BUSY: readings(at, busy)})
    assert ("host-0", WAIT) == (finding.entity.id, finding.signal)


def test_what_most_hosts_have_is_how_the_job_is_set_up():
    quota = counter([0.06] * 6 + [0.0] * 2, begin=100, until=200, before=0.0)
    assert [] == withheld({QUOTA: quota})


def test_a_job_on_one_host_has_no_minority():
    quota = counter([0.06] * 8, begin=100, until=200, before=0.0)
    assert [] == withheld({QUOTA: quota}, hosts=1)
