"""Hosts whose training traffic takes the slow way: sockets in the place of RDMA."""

import numpy as np
import pytest

from rankscope.detectors.baselines import JobBaselines
from rankscope.detectors.hardware.transports import TransportsDetector
from rankscope.detectors.healthy_time import HealthyPace
from rankscope.detectors.sketch import START, readings, sketch

GB = 5e9


@pytest.fixture
def found(steady, levels):
    """Return a function that returns (kind, host) for what leaves four hosts in 5 s."""

    def evaluate(fabric=(GB, None, ()), plain=(1e6, None, ()), events=()):
        held = {
            "hw.network.io|mlx5_0|transmit|1": levels(4, *fabric, counter=True),
            "system.network.io|eth0|transmit": levels(4, *plain, counter=True),
        }
        window = sketch(steady(ranks=8), hosts=4, host_readings=held, events=tuple(events))
        return [(f.kind, f.entity.id) for f in TransportsDetector().evaluate(window)]

    return evaluate


def test_a_host_that_sends_over_its_interface_what_others_send_over_rdma_is_named(found):
    slow = found((GB, 0.0, 1), (1e6, 1e9, 1))
    assert [("host.slow_transport", "host-1")] == slow


def test_a_host_with_silent_ports_and_a_silent_interface_just_waits(found):
    assert [] == found((GB, 0.0, 1))


def test_a_host_that_also_copies_over_its_interface_is_healthy(found):
    assert [] == found(plain=(1e6, 1e9, 1))


def test_a_cluster_without_rdma_traffic_has_no_slow_way(found):
    assert [] == found((0.0, None, ()), (1e9, None, ()))


def test_a_line_that_says_so_is_evidence_about_its_host(found, event):
    line = event("log.fault", 3, host="host-2", signature="nccl.socket_fallback", role="root")
    other = event("log.fault", 3, host="host-3", signature="python.exception", role="root")
    assert [("host.transport_message", "host-2")] == found(events=[line, other])


def test_of_two_hosts_the_one_with_silent_ports_fell_back(steady, levels):
    held = {
        "hw.network.io|mlx5_0|transmit|1": levels(2, GB, 0.0, 1, counter=True),
        "system.network.io|eth0|transmit": levels(2, 1e6, 1e9, 1, counter=True),
    }
    window = sketch(steady(), hosts=2, host_readings=held)
    assert ["host-1"] == [f.entity.id for f in TransportsDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("signature", "slow"), [("nccl.ib_not_found", ["host-1"]), ("nccl.socket_fallback", [])]
)
def test_where_no_interface_is_reported_the_word_that_no_device_was_found_stands_for_it(
    steady, levels, event, signature, slow
):
    held = {"hw.network.io|mlx5_0|transmit|1": levels(4, GB, 0.0, [1, 2], counter=True)}
    line = event("log.fault", 3, host="host-1", signature=signature, role="confirmation")
    window = sketch(steady(ranks=8), hosts=4, host_readings=held, events=(line,))
    found = TransportsDetector().evaluate(window)
    assert slow == [f.entity.id for f in found if f.kind == "host.slow_transport"]


def test_traffic_of_the_attempt_before_is_no_answer_of_this_one(steady, levels):
    held = {
        "hw.network.io|mlx5_0|transmit|1": levels(4, GB, 0.0, 1, counter=True),
        "system.network.io|eth0|transmit": levels(4, 1e6, 1e9, 1, counter=True),
    }
    newest = max(float(one.newest_at()) for one in held.values())

    def found(started, steps):
        window = sketch(steps, hosts=4, host_readings=held, attempt_started_at=started)
        return [(f.entity.id, f.onset[0]) for f in TransportsDetector().evaluate(window)]

    nothing = steady(ranks=8)[:, :0]
    assert [] == found(float("-inf"), nothing)
    assert [] == found(newest - 4.0, nothing)
    assert [("host-1", newest - 11.0)] == found(newest - 11.0, steady(ranks=8))


def test_a_host_whose_ports_carried_traffic_in_the_attempt_has_not_fallen_back(steady):
    at = START + np.arange(0.0, 301, 5)
    fabric = np.tile(np.arange(len(at)) * GB, (4, 1))
    plain = np.tile(np.arange(len(at)) * 1e6, (4, 1))
    fabric[1, 40:] = fabric[1, 40]
    plain[1, 40:] += np.arange(len(at) - 40) * 1e9
    held = {
        "hw.network.io|mlx5_0|transmit|1": readings(at, fabric),
        "system.network.io|eth0|transmit": readings(at, plain),
    }

    def found(started):
        window = sketch(steady(ranks=8), hosts=4, host_readings=held, attempt_started_at=started)
        return [f.entity.id for f in TransportsDetector().evaluate(window)]

    assert [] == found(START)
    assert ["host-1"] == found(START + 200)


@pytest.mark.parametrize(
    ("fabric", "plain", "restarted", "named"),
    [
        pytest.param(0.0, 1e9, True, ["host-0", "host-1"], id="all of it goes over interfaces"),
        pytest.param(0.0, 1e9, False, [], id="nobody saw an attempt before"),
        pytest.param(0.0, 1e6, True, [], id="nothing is sent: the job waits"),
        pytest.param(GB, 1e9, True, [], id="ports carry it as before"),
    ],
)
def test_hosts_that_all_fell_back_at_a_restart_are_unlike_before_it(
    steady, fabric, plain, restarted, named
):
    at = START + np.arange(0.0, 601, 5)
    later = at >= START + 300

    def sent(before, since):
        return readings(at, np.tile(np.cumsum(np.where(later, since, before)), (2, 1)))

    held = {
        "hw.network.io|mlx5_0|transmit|1": sent(GB, fabric),
        "system.network.io|eth0|transmit": sent(1e6, plain),
    }
    baselines = JobBaselines()
    baselines.before = HealthyPace(1.0, 0.01, 0.01) if restarted else None
    window = sketch(
        steady(), hosts=2, host_readings=held, attempt_started_at=START + 300,
        held_baselines=baselines,
    )  # fmt: skip
    assert named == [f.entity.id for f in TransportsDetector().evaluate(window)]


@pytest.mark.parametrize("over", [START, np.inf])
def test_of_a_job_that_is_over_no_rdma_device_is_news(steady, event, over):
    line = event("log.fault", 3, host="host-1", signature="nccl.ib_not_found", role="confirmation")
    window = sketch(steady(ranks=4), hosts=2, events=(line,))
    found = TransportsDetector(over=over).evaluate(window)
    kinds = {(one.kind, one.entity.id) for one in found}
    news = {("host.slow_transport", "host-1")} if over == START else set()
    assert {("host.transport_message", "host-1")} | news == kinds
