"""What is read of a port: the rows of counters.toml, and those of them that one port has."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ....vocabulary import tables
from ... import kernel_files
from .inventory import NetworkPort

Folder = Literal["counters", "hw_counters", "device", "statistics"]


@dataclass(frozen=True, slots=True)
class CounterFile:
    """One file that counts; direction, kind or type belong to its metric."""

    file: str
    folder: Folder
    metric: str
    times: int = 1
    bits: int = 64
    direction: Literal["", "receive", "transmit"] = ""
    kind: str = ""
    type: str = ""

    @property
    def label(self) -> tuple[str, str]:
        """Return (attribute, value) of its series beside device and port."""
        if self.metric == "hw.network.io":
            return "direction", self.direction
        if self.metric == "hw.network.congestion":
            return "kind", self.kind
        return "error.type", self.type or self.file

    @property
    def highest(self) -> int:
        """Return the value at which a counter of the InfiniBand architecture stops counting."""
        return (1 << self.bits) - 1


@dataclass(frozen=True, slots=True)
class PortCounter:
    """A counter of one port, and where it is read."""

    counter: CounterFile
    path: str


@cache
def known() -> Sequence[CounterFile]:
    """Return every counter, in the order of counters.toml."""
    package = __package__ or ""
    return tables.packaged(CounterFile, package, "counters.toml", "counter", unique=False)


def of(port: NetworkPort, net: str) -> list[PortCounter]:
    """Return the counters that a port has; `net` is the folder of its interface, "" without one.

    The bytes of each direction are read once: RDMA counters where they are kept, else those of the
    interface. Errors of the interface are reported beside those of RDMA, which they do not include.
    """
    folders: dict[Folder, str] = {"statistics": f"{net}/statistics" if net else ""}
    if port.folder:
        folders["counters"] = f"{port.folder}/counters"
        folders["hw_counters"] = f"{port.folder}/hw_counters"
        folders["device"] = f"{port.folder.rpartition('/ports/')[0]}/hw_counters"
    there = {name: set(kernel_files.names(place)) for name, place in folders.items() if place}
    found: list[PortCounter] = []
    directions: set[str] = set()
    for counter in known():
        if counter.file not in there.get(counter.folder, ()):
            continue
        path = f"{folders[counter.folder]}/{counter.file}"
        if counter.metric == "hw.network.io":
            if counter.label[1] in directions or kernel_files.number(path) is None:
                continue
            directions.add(counter.label[1])
        found.append(PortCounter(counter, path))
    return found
