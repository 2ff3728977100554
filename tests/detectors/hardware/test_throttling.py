"""Devices whose clocks are held down, by the reason that they report."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware.throttling import ThrottlingDetector
from rankscope.detectors.sketch import START, readings, sketch

CAP, CLOCK = "hw.gpu.throttle|power_cap", "hw.frequency|sm"


def found(by_rank, **fields):
    """Return (kind, device) of what devices report."""
    window = sketch(steady(), rank_readings=by_rank, **fields)
    return [(f.kind, f.entity.id) for f in ThrottlingDetector().evaluate(window)]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("thermal_hw", "gpu.throttled"),
        ("thermal_sw", "gpu.throttled"),
        ("slowdown_hw", "gpu.throttled"),
        ("power_brake", "gpu.power_held"),
    ],
)
def test_a_device_held_down_most_of_the_newest_time_is_named_by_its_reason(reason, kind):
    held = levels(4, 0, 1, 1, since=45)
    assert [(kind, "GPU-1")] == found({f"hw.gpu.throttle|{reason}": held})


def test_the_onset_stays_where_it_began():
    held = {"hw.gpu.throttle|thermal_hw": levels(4, 0, 1, 1, since=20)}
    (finding,) = ThrottlingDetector().evaluate(sketch(steady(), rank_readings=held))
    assert (START + 15, START + 20) == finding.onset


def test_a_slowdown_beside_a_brake_is_the_brakes():
    held = levels(4, 0, 1, 1)
    reasons = {"hw.gpu.throttle|slowdown_hw": held, "hw.gpu.throttle|power_brake": held}
    assert [("gpu.power_held", "GPU-1")] == found(reasons)


@pytest.mark.parametrize("reason", ["idle", "clocks_setting", "sync_boost"])
def test_idle_and_application_clocks_are_normal_life(reason):
    assert [] == found({f"hw.gpu.throttle|{reason}": levels(4, 0, 1, 1)})


def test_a_device_held_down_for_a_moment_is_normal_life():
    assert [] == found({"hw.gpu.throttle|thermal_hw": levels(4, 0, 1, 1, since=60)})


def test_a_cap_that_all_devices_meet_is_the_sites_choice():
    assert [] == found({CAP: levels(4, 1), CLOCK: levels(4, 1.7e9, 1.4e9, 1)})


@pytest.mark.parametrize(
    ("clock", "hosts", "named"),
    [
        pytest.param(1.6e9, 1, 4, id="they run slower since then"),
        pytest.param(1.97e9, 1, 0, id="they run as they did"),
        pytest.param(1.6e9, 2, 0, id="of several hosts: the site's choice"),
    ],
)
def test_a_cap_that_was_lowered_on_the_only_host_as_the_job_ran_is_named(clock, hosts, named):
    everybody = range(4)
    by_rank = {
        CAP: levels(4, 0, 1, everybody, since=30),
        CLOCK: levels(4, 1.98e9, clock, everybody, since=30),
        "hw.power.limit": levels(4, 700, 450, everybody, since=30),
    }
    held = [("gpu.power_held", f"GPU-{row}") for row in everybody]
    assert held[:named] == found(by_rank, hosts=hosts)


def test_a_cap_of_one_device_that_costs_no_clock_is_normal_life():
    assert [] == found({CAP: levels(4, 0, 1, 1), CLOCK: levels(4, 1.7e9, 1.68e9, 1)})


def test_a_cap_that_holds_one_device_below_its_peers_is_named():
    capped = {CAP: levels(4, 0, 1, 1), CLOCK: levels(4, 1.7e9, 1.5e9, 1)}
    assert [("gpu.power_held", "GPU-1")] == found(capped)


def test_a_capped_device_with_a_lower_limit_is_named_where_its_peers_are_capped_too():
    lower = {
        CAP: levels(4, 1),
        CLOCK: levels(4, 1.7e9, 1.4e9, 1),
        "hw.power.limit": levels(4, 700, 500, 1),
    }
    assert [("gpu.power_held", "GPU-1")] == found(lower)


def test_a_capped_device_that_waits_is_not_held_down():
    waits = {CAP: levels(4, 0, 1, 1), "hw.gpu.utilization": levels(4, 0.9, 0.1, 1)}
    assert [] == found(waits)


def test_a_device_that_nobody_can_name_is_left_out():
    held = {"hw.gpu.throttle|thermal_hw": levels(4, 0, 1, 1)}
    assert [] == found(held, hw_ids=("GPU-0", None, "GPU-2", "GPU-3"))


@pytest.mark.parametrize(("read_at", "named"), [(90.0, []), (200.0, ["GPU-1"])])
def test_a_capped_device_is_slower_only_where_its_clock_was_read_at_work(read_at, named):
    """Clocks come each five minutes, the rest each second; the devices work from 100 s on."""
    at = START + np.arange(0.0, 301, 1)
    busy = np.where(at - START < 100, 0.02, 0.9)
    capped = np.zeros((4, len(at)))
    capped[1] = 1.0
    held = {
        CAP: readings(at, capped),
        CLOCK: readings(
            START + np.array([read_at]), np.array([[1.7e9], [1.4e9], [1.7e9], [1.7e9]])
        ),
        "hw.gpu.utilization": readings(at, np.tile(busy, (4, 1))),
    }
    window = sketch(steady(steps=300), now=START + 300.0, rank_readings=held)
    assert named == [f.entity.id for f in ThrottlingDetector().evaluate(window)]
