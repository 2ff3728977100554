"""Ports that count errors: beyond their limits and far beyond their peers."""

import numpy as np
import pytest
from tests.detectors.drawn import event, levels, steady

from rankscope.detectors.hardware.port_errors import PortErrorsDetector
from rankscope.detectors.sketch import START, readings, sketch


def found(counter, usual, odd=None, which=(), events=(), **how):
    """Return (kind, port) for one counter of the ports of five hosts."""
    held = {f"hw.network.errors|mlx5_0|{counter}|1": levels(
        5, usual, odd, which, counter=True, **how)}  # fmt: skip
    window = sketch(steady(ranks=10), hosts=5, host_readings=held, events=tuple(events))
    return [(f.kind, f.entity.id) for f in PortErrorsDetector().evaluate(window)]


def test_a_port_beyond_its_limit_and_its_peers_is_evidence():
    assert [("nic.errors", "host-3/mlx5_0:1")] == found("symbol_error", 0, 30, 3)


def test_what_lasts_keeps_its_onset():
    at = START + np.arange(0, 901, 15.0)
    bad = np.zeros((5, len(at)))
    bad[3] = np.clip(at - START - 120, 0, None) * 15
    (finding,) = PortErrorsDetector().evaluate(
        sketch(steady(ranks=10, steps=900), hosts=5, host_readings={
            "hw.network.errors|mlx5_0|symbol_error|1": readings(at, bad)})
    )  # fmt: skip
    assert (START + 120, START + 135) == finding.onset


def test_errors_that_all_ports_count_are_how_the_fabric_counts():
    assert [] == found("symbol_error", 30)


def test_a_few_errors_are_normal_life():
    assert [] == found("symbol_error", 0, 1, 3, since=30, until=35)
    assert [] == found("port_rcv_errors", 0, 5, 3)


def test_a_timeout_every_other_second_is_too_often():
    """A sender stands still at each, so their limit is lower than that of other errors."""
    assert [("nic.errors", "host-3/mlx5_0:1")] == found("local_ack_timeout_err", 0, 3, 3)
    assert [] == found("port_rcv_errors", 0, 3, 3)


def test_a_link_that_is_trained_again_and_again_is_a_symptom():
    assert [("nic.retraining", "host-3/mlx5_0:1")] == found("link_error_recovery", 0, 2, 3)


@pytest.mark.parametrize("counter", ["port_xmit_discards", "out_of_sequence", "link_downed"])
def test_counters_of_congestion_and_flaps_are_for_other_detectors(counter):
    assert [] == found(counter, 0, 5000, 3)


def test_the_agents_own_limits_count_where_readings_show_nothing():
    pairs = {"device": "mlx5_0", "port": "1", "code": "symbol_error", "class": "degraded"}
    raised = event("network.fault", 30, host="host-2", state="raised", **pairs)
    assert [("nic.errors", "host-2/mlx5_0:1")] == found("symbol_error", 0, events=[raised])
    cleared = event("network.fault", 50, host="host-2", state="cleared", **pairs)
    assert [] == found("symbol_error", 0, events=[raised, cleared])


def test_of_two_ports_the_one_that_counts_is_compared_with_the_other():
    bad = levels(2, 0.0, 9.0, 1, counter=True)
    name = "hw.network.errors|mlx5_0|symbol_error|1"
    window = sketch(steady(), hosts=2, host_readings={name: bad})
    assert ["host-1/mlx5_0:1"] == [f.entity.id for f in PortErrorsDetector().evaluate(window)]


@pytest.mark.parametrize(("a_minute", "named"), [(2.0, 0), (3.0, 0), (12.0, 1)])
def test_a_cable_that_has_as_many_errors_as_it_may_is_sound_whatever_chance_adds(a_minute, named):
    at = START + np.arange(0, 301, 5.0)
    count = np.zeros((5, len(at)))
    count[3] = np.floor((at - START) * a_minute / 60)
    window = sketch(steady(ranks=10, steps=300), hosts=5, host_readings={
        "hw.network.errors|mlx5_0|symbol_error|1": readings(at, count)})  # fmt: skip
    assert named == len(PortErrorsDetector().evaluate(window))
