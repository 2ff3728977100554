"""Hosts whose training traffic takes the slow way: sockets in the place of RDMA."""

import pytest

from rankscope.detectors.hardware.transports import Transports
from rankscope.detectors.sketch import sketch

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
        return [(f.kind, f.entity.id) for f in Transports().evaluate(window)]

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
    assert ["host-1"] == [f.entity.id for f in Transports().evaluate(window)]
