"""What is read of a port: the rows of counters.toml, and those of them that one port has."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, cast

from ....vocabulary.samples import Scalar
from . import kernel_files
from .inventory import Port

Folder = Literal["counters", "hw_counters", "device", "statistics"]


@dataclass(frozen=True, slots=True)
class Counter:
    """One file that counts. `label` is (attribute, value) of its series beside device and port."""

    folder: Folder
    file: str
    metric: str
    label: tuple[str, Scalar]
    times: int = 1
    bits: int = 64

    @property
    def highest(self) -> int:
        """Return the value at which a counter of the InfiniBand architecture stops counting."""
        return (1 << self.bits) - 1


@dataclass(frozen=True, slots=True)
class Found:
    """A counter of one port, and where it is read."""

    counter: Counter
    path: str


@cache
def known() -> Sequence[Counter]:
    """Return every counter, in the order of counters.toml."""
    text = resources.files(__package__ or "").joinpath("counters.toml").read_text(encoding="utf-8")
    return [_counter(row) for row in tomllib.loads(text)["counter"]]


def of(port: Port, net: str) -> list[Found]:
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
    found: list[Found] = []
    directions: set[Scalar] = set()
    for counter in known():
        if counter.file not in there.get(counter.folder, ()):
            continue
        path = f"{folders[counter.folder]}/{counter.file}"
        if counter.metric == "hw.network.io":
            if counter.label[1] in directions or kernel_files.number(path) is None:
                continue
            directions.add(counter.label[1])
        found.append(Found(counter, path))
    return found


def _counter(row: dict[str, str | int]) -> Counter:
    if row["metric"] == "hw.network.io":
        label = ("direction", row["direction"])
    elif row["metric"] == "hw.network.congestion":
        label = ("kind", row["kind"])
    else:
        label = ("error.type", row.get("type", row["file"]))
    return Counter(
        folder=cast("Folder", row["folder"]),
        file=str(row["file"]),
        metric=str(row["metric"]),
        label=label,
        times=int(row.get("times", 1)),
        bits=int(row.get("bits", 64)),
    )
