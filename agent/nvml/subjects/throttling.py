"""What holds the clocks down now."""

from ..asking import Device

REASONS = {
    0x1: "idle",
    0x2: "clocks_setting",
    0x4: "power_cap",
    0x8: "slowdown_hw",
    0x10: "sync_boost",
    0x20: "thermal_sw",
    0x40: "thermal_hw",
    0x80: "power_brake",
}
"""Bits of NVML's clock event reasons (nvml.h) in the contract's words; 0x100, display, is left out.

A data centre has none of it.
"""


def read(device: Device) -> None:
    """Say 1 or 0 for each reason."""
    mask = device.ask("nvmlDeviceGetCurrentClocksEventReasons")
    if mask is None:  # the name before driver 535
        mask = device.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
    if mask is not None:
        for bit, reason in REASONS.items():
            device.report("hw.gpu.throttle", float(bool(mask & bit)), ("reason", reason))
