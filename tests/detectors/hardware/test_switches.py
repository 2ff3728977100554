"""Leaf switches: several of their hosts have trouble at once, and hardly any other host."""

import numpy as np
import pytest

from rankscope.detectors.hardware.switches import SwitchesDetector
from rankscope.detectors.sketch import START, readings, sketch
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


@pytest.fixture
def losing(steady):
    """Return a function that returns what is named where ports time out since second 600 of 720.

    `always`: those that did all the time; `marked`: all are marked more often since then, too;
    `elsewhere`: the last so many hosts hang on a second leaf; `unread`: those of which nothing is
    read since.
    """

    def evaluate(hosts, *, elsewhere=0, always=(), marked=False, unread=()):
        layout = JobTopology(
            Job("example"),
            hosts=HOSTS,
            placements=[RankPlacement(rank, HOSTS[rank // 2]) for rank in range(12)],
            switches={host: f"leaf-{int(n >= 6 - elsewhere)}" for n, host in enumerate(HOSTS)},
        )
        at = START + np.arange(0, 721, 5.0)
        grown = np.maximum(at - START - 600, 0)
        lost = np.stack([grown if n in hosts else 0 * at for n in range(6)])
        lost[list(always)] = at - START
        lost[np.ix_(list(unread), at > START + 600)] = np.nan
        name = "hw.network.errors|mlx5_0|local_ack_timeout_err|1"
        held = {name: readings(at, lost)}
        if marked:
            rate = 1000 * (at - START) + 90_000 * grown
            held["hw.network.congestion|mlx5_0|ecn|1"] = readings(at, np.stack([rate] * 6))
        window = sketch(
            steady(ranks=12), hosts=6, placed=layout, now=START + 720, host_readings=held
        )
        return [f.entity.id for f in SwitchesDetector().evaluate(window)]

    return evaluate


def test_errors_that_begin_on_all_ports_of_the_only_switch_are_the_switch(losing):
    assert ["leaf-0"] == losing(range(6))


def test_errors_on_some_ports_of_the_only_switch_are_the_ports(losing):
    assert [] == losing(range(4))


def test_a_host_that_is_read_too_rarely_to_tell_does_not_speak_for_the_only_switch(losing):
    assert ["leaf-0"] == losing(range(5), unread=[5])
    assert [] == losing(range(3), unread=[3, 4, 5]), "half of the hosts"


def test_ports_that_have_always_counted_errors_are_no_switch(losing):
    assert [] == losing(range(6), always=range(6))
    assert [] == losing(range(6), always=[2])


def test_packets_lost_in_a_fabric_that_is_marked_more_often_are_congestion(losing):
    assert [] == losing(range(6), marked=True)


def test_a_switch_before_most_hosts_of_a_job_is_told_by_their_own_past(losing):
    """What most ports do looks usual beside one another."""
    assert ["leaf-0"] == losing(range(4), elsewhere=2)
    assert [] == losing(range(5), elsewhere=2), "half of the other switch's hosts as well"


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
