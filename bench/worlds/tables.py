"""The rows of the tables beside: habits, reporters, devices, log lines, faults, readings.

An `Amount` is a number or arithmetic over the names that mechanisms.py and readings.py list.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from rankscope.vocabulary import tables

from .amounts import Amount

HELD_BACK_FROM = 1000
"""The first seed whose worlds have the rows that are held back."""
_FAMILIES = ["balance", "efficiency", "gpu", "host", "memory", "network", "numerics", "software"]
_USUAL = ("full", "estimated_split", "no_collectives", "no_loss", "bare_attributes")
Effect = Mapping[str, Any]
"""An entry of a mechanism; mechanisms.py reads it."""
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class MechanismRow:
    """What changes in a job. `draw`: least and most of an amount, for weak faults two more.

    `again`: the seconds to the next time, at most `times` in all; `begins`: the first time. The
    keys of `steps`, `edits`, `extras`, `ends` and `restart` are the fields of their classes in
    effects.py (`metrics` for several, a word of culprits.py for `ranks`), `when`: only where it is
    not 0. `lines`: each a row of lines.toml, sent at a time by some ranks.
    """

    id: str
    why: str
    draw: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    begins: Amount = "onset"
    again: Amount = ""
    times: int = 1000
    curve: Mapping[str, Amount] = field(default_factory=dict)
    first_step: Amount = "first"
    clock: Amount = 0.0
    steps: tuple[Effect, ...] = ()
    edits: tuple[Effect, ...] = ()
    extras: tuple[Effect, ...] = ()
    lines: tuple[Effect, ...] = ()
    ends: tuple[Effect, ...] = ()
    restart: Effect = field(default_factory=dict)
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class FaultRow(MechanismRow):
    """A fault that is simulated: of whom (one of `who`), and in which cases it can be seen.

    `onset`: of the truth; `minutes` of a case; `ranks` at least; `groups`: the layout has them;
    `from_start`: the collector has to see the start. `without`: habits that no such case has.
    """

    who: tuple[str, ...] = ()
    onset: Amount = "onset"
    minutes: float = 10.0
    ranks: int = 8
    groups: str = ""
    from_start: bool = False
    without: tuple[str, ...] = ()
    reporters: tuple[str, ...] = _USUAL


@dataclass(frozen=True, slots=True)
class HabitRow(MechanismRow):
    """What healthy jobs do; the amount lies between `low` and `high`, in `unit`.

    `obscures`: beside it nobody could tell what a fault did.
    """

    unit: str = ""
    share: float = 0.0
    low: float = 0.0
    high: float = 0.0
    obscures: bool = False


@dataclass(frozen=True, slots=True)
class ReporterRow:
    """How a job is reported; `ranks`: all, or the first alone."""

    name: str
    why: str
    share: float
    lacks: tuple[str, ...] = ()
    quality: str = "exact"
    source: str = "probe"
    ranks: str = "all"
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A kind of device: MHz, GiB, W."""

    name: str
    clock: float
    memory_clock: float
    memory: float
    power: float
    idle: float
    generation: int
    links: int


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A log record: text and attributes have {fields} of its rank. `job`: with the job's id."""

    id: str
    event: str = "log.fault"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    job: bool = True


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """A series that is read of something; `every`: only each so-manieth reading."""

    metric: str
    value: Amount
    of: Mapping[str, Any] = field(default_factory=dict)
    every: Amount = 1.0


@cache
def habits() -> Mapping[str, HabitRow]:
    """Return the habits by id, in the order of their file."""
    return {row.id: row for row in _rows(HabitRow, "habit", "habits.toml")}


@cache
def reporters() -> tuple[ReporterRow, ...]:
    """Return the ways of reporting in the order of their file."""
    return tuple(_rows(ReporterRow, "reporter", "reporters.toml"))


@cache
def devices() -> tuple[DeviceRow, ...]:
    """Return the kinds of devices in the order of their file."""
    return tuple(_rows(DeviceRow, "device", "devices.toml"))


@cache
def records() -> Mapping[str, RecordRow]:
    """Return the log records by id."""
    return {row.id: row for row in _rows(RecordRow, "line", "lines.toml")}


@cache
def faults() -> tuple[FaultRow, ...]:
    """Return the faults in the order of their files."""
    names = [f"faults/{family}.toml" for family in _FAMILIES]
    return tuple(tables.joined(FaultRow, __package__ or "", names, "fault"))


@cache
def readings(of: str) -> tuple[ReadingRow, ...]:
    return tuple(_rows(ReadingRow, "reading", f"readings/{of}.toml"))


def _rows(kind: type[R], key: str, file: str) -> list[R]:
    return tables.packaged(kind, __package__ or "", file, key, unique=kind is not ReadingRow)
