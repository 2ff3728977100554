"""Ports that go down and up again."""

import numpy as np
import pytest
from tests.detectors.drawn import event, levels, steady

from rankscope.detectors.hardware.link_flaps import LinkFlapsDetector
from rankscope.detectors.sketch import START, readings, sketch

AT = START + np.arange(0.0, 61, 5)


def found(host_readings=None, events=()):
    """Return (kind, port, times) of what the ports of two hosts show."""
    window = sketch(steady(), host_readings=host_readings or {}, events=tuple(events))
    return [(f.kind, f.entity.id, f.magnitude) for f in LinkFlapsDetector().evaluate(window)]


def state(*values):
    """Return readings of a port of the second host; the first host's is up."""
    return {"hw.network.up|mlx5_0|1": readings(AT, np.array([[1.0] * 13, list(values)]))}


def test_a_link_that_went_down_once_and_is_back_is_evidence():
    once = state(1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    assert [("nic.flapped", "host-1/mlx5_0:1", 1.0)] == found(once)


def test_a_link_that_stays_down_does_not_flap():
    assert [] == found(state(1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("counter", "lost"), [("link_downed", 1), ("carrier_changes", 1), ("link_downed", 2)]
)
def test_the_loss_that_a_port_is_down_by_is_not_counted_as_a_flap(counter, lost):
    rows = found({
        "hw.network.up|mlx5_0|1": levels(2, 1, 0, 1, since=30),
        f"hw.network.errors|mlx5_0|{counter}|1": levels(2, 0, lost, 1, since=30),
    })  # fmt: skip
    assert lost - 1 == len(rows)


def test_a_link_that_goes_down_again_and_again_is_a_symptom():
    often = state(1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1)
    assert [("nic.flapping", "host-1/mlx5_0:1", 3.0)] == found(often)


def test_sources_of_one_flap_count_it_once():
    both = {
        **state(1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1),
        "hw.network.errors|mlx5_0|link_downed|1": levels(2, 0, 1, 1, since=15),
    }
    up = event("network.link", 20, host="host-1", device="mlx5_0", port="1", state="up")
    assert [("nic.flapped", "host-1/mlx5_0:1", 1.0)] == found(both, [up])


def test_changes_of_the_carrier_are_two_a_flap():
    carrier = {"hw.network.errors|eth1|carrier_changes|1": levels(2, 0, 4, 1, since=30)}
    assert [("nic.flapped", "host-1/eth1:1", 2.0)] == found(carrier)


def test_folded_events_count_their_changes():
    folded = event("network.link", 20, host="host-1", device="mlx5_0", port="1", state="up",
                   count=8, reason="flapping")  # fmt: skip
    assert [("nic.flapping", "host-1/mlx5_0:1", 4.0)] == found(events=[folded])


def test_what_was_counted_before_is_no_flap():
    assert [] == found({"hw.network.errors|mlx5_0|link_downed|1": levels(2, 0, 9, 1)})
