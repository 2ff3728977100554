"""Temperatures, and the temperatures at which the device acts."""

import pynvml

from ..asking import Device

_LIMITS = {
    "slowdown": pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN,
    "shutdown": pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN,
    "memory_max": pynvml.NVML_TEMPERATURE_THRESHOLD_MEM_MAX,
    "gpu_max": pynvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX,
}


def read(device: Device) -> None:
    """Say degrees Celsius.

    The margin to slowdown is left alone: some devices answer 0 or less where they mean that they
    do not know, and the limits say the same without it. A memory without a sensor reads 0.
    """
    degrees = device.ask("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU)
    if degrees is not None:
        device.report("hw.temperature", degrees, ("hw.sensor", "gpu"))
    (memory,) = device.fields(pynvml.NVML_FI_DEV_MEMORY_TEMP)
    if memory:
        device.report("hw.temperature", memory, ("hw.sensor", "memory"))
    limits = device.kept.get("temperature limits")
    if limits is None:
        limits = device.kept["temperature limits"] = {
            name: device.ask("nvmlDeviceGetTemperatureThreshold", number)
            for name, number in _LIMITS.items()
        }
    for name, limit in limits.items():
        if limit:
            device.report("hw.temperature.limit", limit, ("limit", name))
