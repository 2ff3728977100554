"""Devices that their driver says are badly connected."""

from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.fabric import FabricDetector
from rankscope.detectors.sketch import sketch


def found(**by_reason):
    """Return the findings on the fabric of eight devices."""
    named = {f"hw.gpu.fabric.fault|{name}": held for name, held in by_reason.items()}
    return FabricDetector().evaluate(sketch(steady(ranks=8), rank_readings=named))


def test_what_the_driver_begins_to_report_is_one_finding_a_device():
    bad = levels(8, 0, 1, 5, since=40)
    (finding,) = found(route_unhealthy=bad, degraded_bandwidth=bad)
    said = "the driver reports of its NVLink fabric: degraded bandwidth, route unhealthy"
    assert (f"gpu GPU-5 on host-1: {said}", "gpu.fabric_fault") == (finding.text, finding.kind)


def test_a_device_that_always_had_it_counts_where_its_peers_do_not():
    (finding,) = found(invalid_location=levels(8, 0, 1, 5))
    assert "GPU-5" == finding.entity.id


def test_how_a_whole_cluster_is_set_up_is_no_fault():
    assert [] == found(no_partition=levels(8, 1))
    assert [] == found(no_partition=levels(8, 0, 1, [4, 5, 6, 7]))
    assert [] == found(unhealthy=levels(8, 0))
