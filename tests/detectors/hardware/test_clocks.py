"""Busy devices whose SM clock is below that of their peers, though they report no reason for it."""

import numpy as np
import pytest
from tests.detectors.drawn import levels, steady

from rankscope.detectors.hardware import devices
from rankscope.detectors.hardware.clocks import LowClockDetector
from rankscope.detectors.sketch import START, readings, sketch

CLOCK = "hw.frequency|sm"
AT = START + np.arange(0.0, 61, 5)


def found(clocks, more=None, ranks=None):
    """Return (kind, device) for SM clocks in MHz and other readings."""
    clock = readings(AT, np.array(clocks, float)[:, None] * 1e6)
    window = sketch(
        steady(ranks=ranks or len(clocks)), rank_readings={CLOCK: clock, **(more or {})}
    )
    return [(f.kind, f.entity.id) for f in LowClockDetector().evaluate(window)]


LOW = (1755, 1755, 1755, 1095)


def test_a_clock_below_its_peers_is_set_low_where_nothing_else_explains_it():
    assert [("gpu.clock_low", "GPU-3")] == found(LOW)


def test_a_clock_a_little_below_few_peers_that_stray_is_normal_life():
    assert [] == found((1755, 1730, 1755, 1632))
    assert [] == found((1755, 1755, 1632))


def test_a_clock_a_little_below_few_peers_that_all_run_alike_is_low():
    assert [("gpu.clock_low", "GPU-3")] == found((1755, 1750, 1755, 1650))


def test_among_many_peers_a_small_difference_counts():
    clocks = [1755.0] * 16
    clocks[7] = 1660.0
    assert [("gpu.clock_low", "GPU-7")] == found(clocks)


def test_devices_whose_clocks_stray_hide_a_small_difference():
    clocks = list(np.linspace(1600, 1800, 16))
    assert [] == found(clocks)


def test_devices_held_down_alike_cannot_be_told():
    assert [] == found((1095,) * 4)


def test_two_clocks_are_too_few_to_say_which_is_low():
    assert [] == found((1755, 1000))


@pytest.mark.parametrize(
    ("metric", "usual", "odd"),
    [("hw.gpu.utilization", 1.0, 0.05), ("hw.gpu.throttle|idle", 0.0, 1.0)],
)
def test_a_device_that_waits_lowers_its_clock_and_is_not_held_down(metric, usual, odd):
    assert [] == found((1755, 1755, 1755, 345), {metric: levels(4, usual, odd, 3)})


@pytest.mark.parametrize("reason", ["thermal_hw", "power_brake"])
def test_a_device_that_reports_its_reason_is_left_to_the_reason(reason):
    assert [] == found(LOW, {f"hw.gpu.throttle|{reason}": levels(4, 0, 1, 3)})


def test_a_clock_setting_is_why_where_it_is_the_reason():
    more = {"hw.gpu.throttle|clocks_setting": levels(4, 0, 1, 3)}
    assert [("gpu.clock_low", "GPU-3")] == found(LOW, more)


def test_heat_explains_a_low_clock_where_no_reason_is_reported():
    more = {"hw.temperature|gpu": levels(4, 65, 88, 3)}
    assert [("gpu.throttled", "GPU-3")] == found(LOW, more)


def test_a_full_power_budget_explains_it_where_no_reason_is_reported():
    more = {"hw.power": levels(4, 500, 699, 3), "hw.power.limit": levels(4, 700)}
    assert [("gpu.power_held", "GPU-3")] == found(LOW, more)


@pytest.mark.parametrize("limit", ["hw.power.limit", "hw.frequency.limit|sm"])
def test_devices_of_two_models_are_compared_within_their_own(limit):
    models = {limit: readings(AT, np.repeat([700e6, 300e6], 4)[:, None])}
    assert [] == found([1980] * 4 + [1410] * 4, models)
    assert [("gpu.clock_low", "GPU-6")] == found([1980] * 4 + [1410, 1410, 1100, 1410], models)


def test_a_lower_highest_clock_of_one_device_is_a_setting_and_no_model():
    more = {"hw.frequency.limit|sm": levels(8, 1980e6, 1100e6, 3)}
    assert [("gpu.clock_low", "GPU-3")] == found([1755] * 3 + [1095] + [1755] * 4, more)


def test_where_no_limit_is_reported_a_host_that_runs_alike_is_another_model():
    assert [] == found((1755, 1755, 1410, 1410))


def test_a_host_whose_devices_became_hot_while_their_clocks_fell_is_throttled():
    second = np.arange(0.0, 601.0, 10.0)
    late = second > 500
    clock, heat = np.full((4, len(second)), 1980e6), np.full((4, len(second)), 62.0)
    heat[2:, late] = 85.0
    hot = {"hw.temperature|gpu": readings(START + second, heat)}
    assert [] == found([1980] * 4, {**hot, CLOCK: readings(START + second, clock)})
    clock[2:, late] = 1700e6
    fallen = {CLOCK: readings(START + second, clock)}
    throttled = [("gpu.throttled", "GPU-2"), ("gpu.throttled", "GPU-3")]
    assert throttled == found([1980] * 4, {**hot, **fallen})
    assert [] == found(
        [1980] * 4, {**fallen, "hw.temperature|gpu": readings(AT, np.full((4, 1), 70.0))}
    )


@pytest.mark.parametrize(("read_at", "named"), [(90.0, []), (200.0, ["GPU-3"])])
def test_a_clock_counts_by_the_load_at_which_it_was_read(read_at, named):
    """Clocks come each five minutes, utilization each second; the devices work from 100 s on."""
    at = START + np.arange(0.0, 301, 1)
    busy = np.where(at - START < 100, 0.02, 0.9)
    clock = readings(START + np.array([read_at]), np.array(LOW, float)[:, None] * 1e6)
    held = {CLOCK: clock, "hw.gpu.utilization": readings(at, np.tile(busy, (4, 1)))}
    window = sketch(steady(steps=300), now=START + 300.0, rank_readings=held)
    assert named == [f.entity.id for f in LowClockDetector().evaluate(window)]


def test_a_device_that_rests_between_two_readings_of_its_load_was_not_seen_to_work():
    seen = START + np.array([0.0, 60.0, 120.0, 180.0])
    load = readings(seen, np.array([[0.9, 0.9, 0.1, 0.9]]))
    times = START + np.array([-400.0, 30.0, 60.4, 90.0, 120.5, 150.0, 200.0])
    clock = readings(times, np.full((1, 7), 1e9))
    window = sketch(np.full((1, 60), 0.8), rank_readings={"hw.gpu.utilization": load, CLOCK: clock})
    worked = devices.under_load(window, clock, 0)
    assert [False, True, True, False, False, False, True] == np.isfinite(worked.value[0]).tolist()
