"""For how long each reason held the clocks down since the driver was loaded."""

import pynvml

from ..asking import Device

_POLICIES = {
    "power_cap": pynvml.NVML_PERF_POLICY_POWER,
    "thermal_sw": pynvml.NVML_PERF_POLICY_THERMAL,
    "sync_boost": pynvml.NVML_PERF_POLICY_SYNC_BOOST,
    "board_limit": pynvml.NVML_PERF_POLICY_BOARD_LIMIT,
    "idle": pynvml.NVML_PERF_POLICY_LOW_UTILIZATION,
    "reliability": pynvml.NVML_PERF_POLICY_RELIABILITY,
}


def read(device: Device) -> None:
    """Say seconds where the device counts them; NVML gives nanoseconds."""
    for reason, policy in _POLICIES.items():
        held = device.ask("nvmlDeviceGetViolationStatus", policy)
        if held is not None:
            device.report("hw.gpu.throttle.duration", held.violationTime / 1e9, ("reason", reason))
