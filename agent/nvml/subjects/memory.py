"""Device memory: in use, in total, held back by driver and firmware."""

import pynvml

from ..asking import Device


def read(device: Device) -> None:
    """Report bytes. The second version separates what is reserved from what is used."""
    memory = device.ask("nvmlDeviceGetMemoryInfo", pynvml.nvmlMemory_v2)
    if memory is not None:
        device.report("hw.gpu.memory.reserved", memory.reserved)
    else:
        memory = device.ask("nvmlDeviceGetMemoryInfo")
    if memory is not None:
        device.report("hw.gpu.memory.usage", memory.used)
        device.report("hw.gpu.memory.limit", memory.total)
