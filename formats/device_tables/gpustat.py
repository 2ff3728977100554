"""gpustat: a line a device, below one with the host and the time."""

import re

from .tables import (
    MEMORY,
    MEMORY_LIMIT,
    POWER,
    POWER_LIMIT,
    TEMPERATURE,
    UTILIZATION,
    DeviceTable,
    TableDevice,
)

_MIB = float(1 << 20)
_DEVICE = re.compile(
    r"\s*\[(\d{1,3})\]\s+(\S.*?)\s*\|\s*(\d+|\?+)\s*['°]C,(?:[^|%]*?%,)?\s*(\d+|\?+)\s*%"
    r"(?:,\s*(?:[EeDd\d: %/]*,)?\s*(\d+|\?+)\s*(?:/\s*(\d+))?\s*W)?\s*\|"
    r"\s*(\d+)\s*/\s*(\d+)\s*MB"
)


class GpustatReader:
    """Reads one output of gpustat. Feed it the first device's line first."""

    def __init__(self, number: int, line: str) -> None:
        del line
        self.table = DeviceTable("gpustat", "nvidia", number)

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line is a device's as gpustat writes it."""
        return "C," in line and _DEVICE.match(line) is not None

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this output."""
        found = _DEVICE.match(line)
        if found is None or any(one.index == int(found[1]) for one in self.table.devices):
            return False
        device = TableDevice(int(found[1]), number, name=found[2])
        text = line.strip()
        for quantity, said, factor in (
            (TEMPERATURE, found[3], 1.0),
            (UTILIZATION, found[4], 0.01),
            (POWER, found[5], 1.0),
            (POWER_LIMIT, found[6], 1.0),
            (MEMORY, found[7], _MIB),
            (MEMORY_LIMIT, found[8], _MIB),
        ):
            value = float(said) * factor if said and said.isdigit() else None
            device.put(quantity, value, number, text)
        self.table.devices.append(device)
        return True

    def end(self) -> DeviceTable:
        """Return the output."""
        return self.table
