"""What the driver says of a device's connection to the NVLink fabric (NVSwitches)."""

from collections.abc import Callable
from ctypes import byref
from typing import Any

import pynvml

from ..asking import PolledDevice

_YES = 1
"""Two bits each: 0 not supported, 1 true, 2 false."""
_FLAGS = {
    "degraded_bandwidth": pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW,
    "route_recovery": pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY,
    "route_unhealthy": pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY,
    "access_timeout": pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY,
}
_WRONG = (
    "wrong_system",
    "wrong_chassis",
    "no_partition",
    "too_few_links",
    "incompatible_firmware",
    "invalid_location",
    "invalid_state",
)
"""A wrong configuration, by its number from 2 on: 0 not supported, 1 none (nvml.h)."""
_FIRST_WRONG = 2
_WRONG_SHIFT = pynvml.NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION
_WRONG_BITS = 0xF
_FLAG_BITS = 0x3
_MANAGER_SHIFT = 14
"""Of R615: whether the device's fabric manager is connected; 2: it is not."""
_DISCONNECTED = 2
_SUMMARY = {"unhealthy": 2, "limited_capacity": 3}

_VERSIONS = (
    ("c_nvmlGpuFabricInfo_v3_t", "nvmlDeviceGetGpuFabricInfoV, version 3"),
    ("c_nvmlGpuFabricInfo_v2_t", "nvmlDeviceGetGpuFabricInfoV, version 2"),
)


def fabric(device: PolledDevice) -> None:
    """Report 1 or 0 for each fault that the driver can report; nothing where it reports none.

    A device without a fabric says so by its mask, which is 0 in all places.
    """
    found = _answer(device)
    if found is None:
        return
    mask = int(found.healthMask)
    for reason, shift in _FLAGS.items():
        if flag := mask >> shift & _FLAG_BITS:
            _report(device, reason, told=flag == _YES)
    if number := mask >> _WRONG_SHIFT & _WRONG_BITS:
        for wrong, reason in enumerate(_WRONG, _FIRST_WRONG):
            _report(device, reason, told=number == wrong)
    if manager := mask >> _MANAGER_SHIFT & _FLAG_BITS:
        _report(device, "manager_disconnected", told=manager == _DISCONNECTED)
    if summary := getattr(found, "healthSummary", 0):
        for reason, wanted in _SUMMARY.items():
            _report(device, reason, told=summary == wanted)


def _report(device: PolledDevice, reason: str, *, told: bool) -> None:
    device.report("hw.gpu.fabric.fault", float(told), ("reason", reason))


def _answer(device: PolledDevice) -> Any:
    """Return the newest structure that both the driver and these bindings know."""
    for structure, key in _VERSIONS:
        made: Callable[[], Any] | None = getattr(pynvml, structure, None)
        ask: Callable[..., Any] | None = getattr(pynvml, "nvmlDeviceGetGpuFabricInfoV", None)
        if made is None or ask is None:
            continue
        found = made()
        if device.ask_with(key, ask, device.handle, byref(found)) is not None:
            return found
    return None
