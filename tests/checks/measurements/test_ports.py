"""Ports to other hosts: which are down for as long as somebody looks, and which count errors."""

import itertools

import pytest

from rankscope.checks.measurements import ports
from rankscope.checks.measurements.rows import CheckOrder

ORDER = CheckOrder("ports", seconds=3.0)


@pytest.fixture
def node(tmp_path):
    """Return functions that set an interface and a fabric port, and one that runs a check."""

    class Node:
        def link(self, name, *, carrier="1", received=900, flags="0x1003", errors=0, device=True):
            folder = tmp_path / "sys/class/net" / name
            (folder / "statistics").mkdir(parents=True, exist_ok=True)
            if device:
                (folder / "device").mkdir(exist_ok=True)
            (folder / "flags").write_text(f"{flags}\n")
            (folder / "carrier").write_text(f"{carrier}\n")
            (folder / "statistics/rx_bytes").write_text(f"{received}\n")
            (folder / "statistics/rx_crc_errors").write_text(f"{errors}\n")

        def port(self, name, state, *, received=900, errors=0):
            counters = tmp_path / "sys/class/infiniband" / name / "ports/1/counters"
            counters.mkdir(parents=True, exist_ok=True)
            (counters.parent / "state").write_text(f"{state}\n")
            (counters / "port_rcv_data").write_text(f"{received}\n")
            (counters / "symbol_error").write_text(f"{errors}\n")

        def run(self, measured, meanwhile=lambda _number: None):
            ticks = itertools.count()
            looks = itertools.count(1)
            (row,) = measured(
                ORDER,
                root=tmp_path,
                now=lambda: next(ticks),
                pause=lambda _seconds: meanwhile(next(looks)),
            )
            return row

    return Node()


def test_ports_that_are_up_pass(node):
    node.link("eth0")
    node.port("mlx5_0", "4: ACTIVE")
    assert (0.0,) == node.run(ports.down).samples


def test_a_port_that_is_down_all_the_time_is_named(node):
    node.port("mlx5_0", "4: ACTIVE")
    node.port("mlx5_1", "1: DOWN")
    assert "mlx5_1:1 is down" == node.run(ports.down).failed


def test_a_port_that_came_up_while_somebody_looked_is_not_down(node):
    node.port("mlx5_1", "1: DOWN")
    row = node.run(
        ports.down, lambda number: node.port("mlx5_1", "4: ACTIVE") if number == 2 else 0
    )
    assert (0.0,) == row.samples


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"received": 0}, id="nobody cabled it"),
        pytest.param({"flags": "0x1002"}, id="it is switched off"),
        pytest.param({"device": False}, id="it is a bridge"),
    ],
)
def test_what_never_carried_anything_is_not_missed(node, given):
    node.link("eth0")
    node.link("eth1", carrier="0", **given)
    assert (0.0,) == node.run(ports.down).samples


def test_a_port_that_counts_errors_is_found_whatever_it_counted_before(node):
    node.link("eth0", errors=5000)
    node.port("mlx5_0", "4: ACTIVE", errors=10)
    row = node.run(
        ports.errors,
        lambda number: node.port("mlx5_0", "4: ACTIVE", errors=10 + 40 * number),
    )
    assert row.samples[0] > 1.0
    assert (0.0,) == node.run(ports.errors).samples


def test_a_node_without_ports_is_not_measured(node):
    assert node.run(ports.down).missing
    assert node.run(ports.errors).missing
