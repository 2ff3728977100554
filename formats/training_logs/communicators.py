"""NCCL's lines that say which process is which rank of which communicator, on which device."""

import re

from ...vocabulary.samples import Scalar
from . import cleaning

NEEDLE = "Init COMPLETE"
_LINE = re.compile(
    r"(?P<host>[A-Za-z0-9][\w.-]{0,127}):(?P<pid>\d{1,9}):\d{1,9} \[\d{1,3}\] NCCL INFO "
    r"(?:ncclCommInit\w+ )?comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7})"
    r" nranks (?P<size>\d{1,7}) cudaDev (?P<device>\d{1,3})(?: nvmlDev \d{1,3})?"
    r" busId (?P<bus>[0-9a-fA-F]{1,12})"
    r"(?: commId (?P<id>0x[0-9a-f]{1,16}))?.* - Init COMPLETE"
)


def read(text: str) -> dict[str, Scalar] | None:
    """Return the attributes of a `collective.communicator` event, None for another line.

    `rank` is that of the process where the caller adds one; here are only the rank and the size in
    the communicator. `pid` is as the process itself sees it.
    """
    found = _LINE.search(text)
    if found is None:
        return None
    return {
        "host": cleaning.shown(found["host"]),
        "pid": int(found["pid"]),
        "communicator": found["id"] or found["comm"],
        "communicator.rank": int(found["rank"]),
        "communicator.size": int(found["size"]),
        "device": int(found["device"]),
        "pci.bus_id": _address(found["bus"]),
    }


def _address(bus: str) -> str:
    """Return a PCI address as sysfs spells it: busId 7000 is domain 0, bus 7, device 0."""
    number = int(bus, 16)
    return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}.{number & 0xF:x}"
