"""Memory errors that the device's error correction saw since the driver was loaded."""

import pynvml

from ..asking import Device

_TYPES = {
    "corrected": pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED,
    "uncorrected": pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
}
_PARTS = {
    "hbm": pynvml.NVML_MEMORY_LOCATION_DRAM,
    "sram": pynvml.NVML_MEMORY_LOCATION_SRAM,
}


def read(device: Device) -> None:
    """Report errors by type and part; devices that do not separate parts have one total."""
    for error, kind in _TYPES.items():
        counted = False
        for part, location in _PARTS.items():
            count = device.ask(
                "nvmlDeviceGetMemoryErrorCounter", kind, pynvml.NVML_VOLATILE_ECC, location
            )
            if count is not None:
                counted = True
                _report(device, count, error, part)
        if not counted:
            count = device.ask("nvmlDeviceGetTotalEccErrors", kind, pynvml.NVML_VOLATILE_ECC)
            if count is not None:
                _report(device, count, error, "memory")


def _report(device: Device, count: float, error: str, part: str) -> None:
    device.report("hw.errors", count, ("error.type", error), ("hw.part", part))
