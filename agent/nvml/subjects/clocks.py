"""Clock frequencies, and the highest the device can run at."""

import pynvml

from ..asking import Device

_DOMAINS = {"sm": pynvml.NVML_CLOCK_SM, "memory": pynvml.NVML_CLOCK_MEM}


def read(device: Device) -> None:
    """Say hertz; NVML gives megahertz."""
    for domain, number in _DOMAINS.items():
        now = device.ask("nvmlDeviceGetClockInfo", number)
        if now is not None:
            device.report("hw.frequency", now * 1e6, ("domain", domain))
        most = device.ask("nvmlDeviceGetMaxClockInfo", number)
        if most is not None:
            device.report("hw.frequency.limit", most * 1e6, ("domain", domain))
