"""What a device's values say at once, and what is normal life."""

import pytest

from rankscope.agent.nvml.conditions import DeviceConditions


@pytest.fixture
def told():
    return []


@pytest.fixture
def conditions(told):
    return DeviceConditions(lambda code, text, at: told.append((code, at)))


def throttle(conditions, at, *active):
    reasons = ["idle", "power_cap", "thermal_sw", "thermal_hw", "slowdown_hw", "power_brake"]
    names = [("hw.gpu.throttle", (("gpu", 0), ("reason", reason))) for reason in reasons]
    conditions.take("gpu_throttling", at, names, [float(one in active) for one in reasons])


def errors(conditions, at, kind, count, *, part="hbm", gpu=0):
    names = [("hw.errors", (("error.type", kind), ("gpu", gpu), ("hw.part", part)))]
    conditions.take("gpu_ecc", at, names, [count])


def remap(conditions, at, *, pending, failed, gpu=0):
    names = [
        ("hw.gpu.row_remap", (("gpu", gpu), ("state", "pending"))),
        ("hw.gpu.row_remap", (("gpu", gpu), ("state", "failed"))),
    ]
    conditions.take("gpu_row_remap", at, names, [pending, failed])


def recovery(conditions, at, action):
    conditions.take("gpu_recovery", at, [("hw.gpu.recovery_action", (("action", action),))], [1.0])


@pytest.mark.parametrize("reason", ["thermal_hw", "slowdown_hw", "power_brake"])
def test_a_slowdown_by_hardware_is_told_once_after_ten_seconds(conditions, told, reason):
    for second in range(10):
        throttle(conditions, 100.0 + second, reason)
    assert told == []
    for second in range(10, 300):
        throttle(conditions, 100.0 + second, reason)
    assert told == [("slowdown.sustained", 100.0)]


def test_a_slowdown_that_comes_and_goes_every_other_second_is_one_slowdown(conditions, told):
    for second in range(0, 60, 2):
        throttle(conditions, 100.0 + second, "thermal_hw")
        throttle(conditions, 101.0 + second)
    assert [code for code, _ in told] == ["slowdown.sustained"]


def test_a_short_slowdown_is_not_told_and_a_later_one_is_told_again(conditions, told):
    throttle(conditions, 100.0, "thermal_hw")
    throttle(conditions, 105.0, "thermal_hw")
    for start in (200.0, 400.0):
        for second in range(12):
            throttle(conditions, start + second, "thermal_hw")
        for second in range(12, 90):
            throttle(conditions, start + second)
    assert told == [("slowdown.sustained", 200.0), ("slowdown.sustained", 400.0)]


@pytest.mark.parametrize("reason", ["idle", "power_cap", "thermal_sw"])
def test_what_is_normal_life_is_never_a_slowdown(conditions, told, reason):
    for second in range(600):
        throttle(conditions, 100.0 + second, reason)
    assert told == []


def test_each_growth_of_uncorrectable_errors_is_told_and_corrected_ones_never(conditions, told):
    for at, count in enumerate([0, 0, 2, 2, 3]):
        errors(conditions, float(at), "uncorrected", count)
        errors(conditions, float(at), "corrected", count * 1000)
    assert told == [("ecc.uncorrectable", 2.0), ("ecc.uncorrectable", 4.0)]


def test_errors_from_before_the_start_are_told_and_counters_that_fall_are_not(conditions, told):
    errors(conditions, 1.0, "uncorrected", 5)
    errors(conditions, 2.0, "uncorrected", 0)  # the driver was loaded anew
    errors(conditions, 3.0, "uncorrected", 1)
    assert told == [("ecc.uncorrectable", 1.0), ("ecc.uncorrectable", 3.0)]


def test_memory_and_sram_are_counted_apart(conditions, told):
    errors(conditions, 1.0, "uncorrected", 1, part="hbm")
    errors(conditions, 2.0, "uncorrected", 1, part="sram")
    assert len(told) == 2


def test_a_remap_is_told_when_it_begins_and_not_again_under_another_index(conditions, told):
    remap(conditions, 1.0, pending=0, failed=0)
    remap(conditions, 2.0, pending=1, failed=0)
    remap(conditions, 3.0, pending=1, failed=0, gpu=5)
    remap(conditions, 4.0, pending=1, failed=1, gpu=5)
    assert told == [("row_remap.pending", 2.0), ("row_remap.failed", 4.0)]


def test_a_recovery_that_the_driver_asks_for_is_told_when_it_changes(conditions, told):
    for at, action in enumerate(["none", "gpu_reset", "gpu_reset", "node_reboot", "none"]):
        recovery(conditions, float(at), action)
    assert told == [("recovery.gpu_reset", 1.0), ("recovery.node_reboot", 3.0)]


def test_a_slowdown_is_told_after_the_clock_was_set_back(conditions, told):
    for second in range(5):
        throttle(conditions, 5000.0 + second, "thermal_hw")
    for second in range(12):
        throttle(conditions, 1000.0 + second, "thermal_hw")
    assert told == [("slowdown.sustained", 1000.0)]
