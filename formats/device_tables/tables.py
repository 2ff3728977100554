"""What one table shows: devices with their readings, processes on them; disks, memory, ports."""

import math
import re
from dataclasses import dataclass, field

from ...vocabulary.samples import Attributes, attributes

Quantity = tuple[str, Attributes]
"""A metric and its attributes, without those of the device."""

UTILIZATION: Quantity = ("hw.gpu.utilization", ())
POWER: Quantity = ("hw.power", ())
POWER_LIMIT: Quantity = ("hw.power.limit", ())
MEMORY: Quantity = ("hw.gpu.memory.usage", ())
MEMORY_LIMIT: Quantity = ("hw.gpu.memory.limit", ())
TEMPERATURE: Quantity = ("hw.temperature", attributes({"hw.sensor": "gpu"}))
UNCORRECTED: Quantity = ("hw.errors", attributes({"error.type": "uncorrected"}))

_BUS_ID = re.compile(
    r"\b(?:([0-9a-f]{4}|[0-9a-f]{8}):)([0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])\b", re.IGNORECASE
)


@dataclass(slots=True)
class TableDevice:
    """One device as a table shows it.

    index: as the tool numbers it, None where it does not. bus_id: as the kernel writes it, "" where
    it is not shown. failed: the words by which the tool says that the device does not answer.
    status: the health that it states, "" where it states none. lines: those that are about it.
    """

    index: int | None
    line: int
    bus_id: str = ""
    uuid: str = ""
    name: str = ""
    failed: str = ""
    status: str = ""
    values: dict[Quantity, float] = field(default_factory=dict[Quantity, float])
    texts: dict[Quantity, tuple[int, str]] = field(default_factory=dict[Quantity, tuple[int, str]])
    """The line that a value stands in, number and text."""

    def put(self, quantity: Quantity, value: float | None, line: int, text: str) -> None:
        """Take a value, with the line that it stands in; None is none, nor is what is infinite."""
        if value is not None and math.isfinite(value):
            self.values[quantity] = value
            self.texts[quantity] = line, text


@dataclass(frozen=True, slots=True)
class TableProcess:
    """A process on a device. memory: bytes that it holds there, None where it is not shown."""

    index: int
    pid: int
    name: str
    memory: float | None


@dataclass(slots=True)
class DeviceTable:
    """One table at one moment.

    line: its first, from 0. stamp: the time that stands with it, as it is written. host: that of
    the prompt above it.
    """

    tool: str
    vendor: str
    line: int
    stamp: str = ""
    host: str = ""
    devices: list[TableDevice] = field(default_factory=list[TableDevice])
    processes: list[TableProcess] = field(default_factory=list[TableProcess])


@dataclass(frozen=True, slots=True)
class ShownPort:
    """A network port. physical: the state of the link below it, "" where it is not shown."""

    device: str
    port: str
    state: str
    physical: str
    line: int
    text: str


@dataclass(slots=True)
class HostTable:
    """What a table shows of a host at one moment.

    filesystems: share in use by mount point, with line and text. memory: (available, total), bytes.
    """

    tool: str
    line: int
    stamp: str = ""
    host: str = ""
    filesystems: dict[str, tuple[float, int, str]] = field(
        default_factory=dict[str, tuple[float, int, str]]
    )
    memory: tuple[float, float] | None = None
    text: str = ""
    ports: list[ShownPort] = field(default_factory=list[ShownPort])


def bus_id(text: str) -> str:
    """Return the first PCI address in a text as the kernel writes it, "" where there is none."""
    found = _BUS_ID.search(text)
    return "" if found is None else f"{found[1][-4:]}:{found[2]}".lower()
