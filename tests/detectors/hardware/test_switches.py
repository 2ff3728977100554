"""Leaf switches: several of their hosts have trouble at once, and hardly any other host."""

import numpy as np
import pytest

from rankscope.detectors.hardware.switches import SwitchesDetector
from rankscope.detectors.sketch import sketch
from rankscope.vocabulary.ids import Job
from rankscope.vocabulary.topology import JobTopology, NicPort, RankPlacement

HOSTS = tuple(f"host-{number}" for number in range(6))


@pytest.fixture
def found(steady, levels):
    """Return a function that returns the switches in trouble of a job on six hosts, three each."""

    def evaluate(down=(), *, silent=(), leaves=2, interval=1.0):
        layout = JobTopology(
            Job("example"),
            hosts=HOSTS,
            placements=[RankPlacement(rank, HOSTS[rank // 2]) for rank in range(12)],
            switches={host: f"leaf-{n * leaves // 6}" for n, host in enumerate(HOSTS)},
        )
        up = levels(6, 1, 0, list(down), since=40)
        window = sketch(steady(ranks=12), hosts=6, placed=layout,
                        host_readings={"hw.network.up|mlx5_0|1": up})  # fmt: skip
        received = np.full(6, window.now)
        received[list(silent)] -= 30
        window.host_last_received[:] = received
        window.host_interval[:] = interval
        return [f.entity.id for f in SwitchesDetector().evaluate(window)]

    return evaluate


def test_ports_of_a_switch_that_go_down_together_are_the_switch(found):
    assert ["leaf-1"] == found([3, 4, 5])


def test_hosts_of_a_switch_that_fall_silent_together_are_the_switch(found):
    assert ["leaf-0"] == found(silent=[0, 1, 2])


def test_hosts_that_report_every_30_s_are_not_silent_meanwhile(found):
    assert [] == found(silent=[0, 1, 2], interval=30.0)
    assert [] == found(silent=[0, 1, 2], interval=np.nan), "at the start nobody can say"


def test_one_port_is_a_port(found):
    assert [] == found([4])


def test_ports_of_several_switches_are_no_single_switch(found):
    assert [] == found([0, 1, 4, 5])


def test_a_job_behind_one_switch_cannot_tell(found):
    assert [] == found([3, 4, 5], leaves=1)


def test_healthy_ports_are_no_finding(found):
    assert [] == found()


def test_packets_lost_at_the_hosts_of_one_switch_are_the_switch(steady, levels):
    """It is info until the job slows down: two timeouts in five seconds at each of its ports."""
    layout = JobTopology(
        Job("example"),
        hosts=HOSTS,
        placements=[RankPlacement(rank, HOSTS[rank // 2]) for rank in range(12)],
        switches={host: f"leaf-{n // 3}" for n, host in enumerate(HOSTS)},
    )
    lost = levels(6, 0, 2, [3, 4, 5], counter=True)
    name = "hw.network.errors|mlx5_0|local_ack_timeout_err|1"
    window = sketch(steady(ranks=12), hosts=6, placed=layout, host_readings={name: lost})
    (found,) = SwitchesDetector().evaluate(window)
    assert ("leaf-1", True) == (found.entity.id, found.score < 2)


@pytest.mark.parametrize(("down", "named"), [([0, 1, 2], ["rail-1"]), ([0], [])])
def test_with_a_switch_a_rail_the_ports_of_that_rail_are_its_hosts(steady, levels, down, named):
    """Nothing is said of hosts: each port names its switch, and every host hangs on both."""
    layout = JobTopology(
        Job("example"),
        hosts=HOSTS[:3],
        placements=[RankPlacement(rank, HOSTS[rank // 2]) for rank in range(6)],
        nics=[NicPort(host, f"mlx5_{rail}", "1", switch=f"rail-{rail}")
              for host in HOSTS[:3] for rail in range(2)],
    )  # fmt: skip
    names = [f"hw.network.up|mlx5_{rail}|1" for rail in range(2)]
    of_rail = dict(zip(names, (levels(3, 1, 1, []), levels(3, 1, 0, down, since=40)), strict=True))
    window = sketch(steady(ranks=6), hosts=3, placed=layout, host_readings=of_rail)
    found = SwitchesDetector().evaluate(window)
    assert named == [one.entity.id for one in found]
    assert all(list(range(6)) == list(one.entity.ranks) for one in found)
