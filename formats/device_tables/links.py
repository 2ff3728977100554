"""`nvidia-smi nvlink -s` and `-e`, `nvidia-smi -L`: devices with the states and errors of links."""

import re

from ...vocabulary.samples import attributes
from .tables import DeviceTable, Quantity, TableDevice

_DEVICE = re.compile(r"GPU (\d{1,3}): (.+?) \(UUID: (GPU-[0-9a-fA-F-]{36})\)")
_STATE = re.compile(r"\s*Link (\d{1,3}): (<inactive>|inactive|[\d.]+ GB/s)\s*$")
_ERRORS = re.compile(
    r"\s*Link (\d{1,3}): (Replay|Recovery|CRC(?: Flit)?|CRC Data) Errors?: (\d+)\s*$"
)
_KINDS = {"replay": "replay", "recovery": "recovery"}


class LinkTableReader:
    """Reads one list of devices with their links. Feed it the first device's line first."""

    def __init__(self, number: int, line: str) -> None:
        del line
        self.table = DeviceTable("nvidia-smi nvlink", "nvidia", number)

    @staticmethod
    def opens(line: str) -> bool:
        """Tell whether a line names a device as such a list does."""
        return "(UUID: GPU-" in line and _DEVICE.search(line) is not None

    def feed(self, number: int, line: str) -> bool:
        """Take the next line; return whether it may be of this list."""
        if found := _DEVICE.search(line):
            index = int(found[1])
            if any(one.index == index for one in self.table.devices):
                return False  # asked again
            self.table.devices.append(
                TableDevice(index, number, uuid=found[3], name=found[2].strip())
            )
            return True
        if not self.table.devices:
            return False
        device = self.table.devices[-1]
        if state := _STATE.match(line):
            up = 0.0 if "inactive" in state[2] else 1.0
            device.put(_quantity("hw.gpu.nvlink.up", link=state[1]), up, number, line.strip())
        elif errors := _ERRORS.match(line):
            kind = _KINDS.get(errors[2].lower(), "crc")
            quantity = _quantity("hw.gpu.nvlink.errors", link=errors[1], **{"error.type": kind})
            device.put(quantity, float(errors[3]), number, line.strip())
        else:
            return False
        return True

    def end(self) -> DeviceTable:
        """Return the list."""
        return self.table


def _quantity(metric: str, **pairs: str) -> Quantity:
    return metric, attributes(dict(pairs))
