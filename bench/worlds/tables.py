"""The rows of the tables beside: habits of healthy jobs, reporters, devices, faults."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rankscope.vocabulary import tables

HELD_BACK_FROM = 1000
"""The first seed whose worlds have the rows that are held back."""


@dataclass(frozen=True, slots=True)
class HabitRow:
    """What healthy jobs do; the amount lies between `low` and `high`, in `unit`."""

    name: str
    why: str
    unit: str
    share: float
    low: float = 0.0
    high: float = 0.0
    held_back: bool = False


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
class FaultRow:
    """A fault that is simulated: `minutes` of a case; `reporters` through which it can be seen."""

    id: str
    why: str
    minutes: float = 10.0
    reporters: tuple[str, ...] = ("full", "estimated_split", "no_collectives", "bare_attributes")
    held_back: bool = False


@dataclass(frozen=True, slots=True)
class LogRow:
    """A log line; its text has the fields that the fault gives."""

    name: str
    signature: str
    text: str
    role: str = "root"
    of_host: bool = False


@cache
def habits() -> tuple[HabitRow, ...]:
    """Return the habits in the order of their file."""
    return tuple(tables.packaged(HabitRow, __package__ or "", "habits.toml", "habit"))


@cache
def reporters() -> tuple[ReporterRow, ...]:
    """Return the ways of reporting in the order of their file."""
    return tuple(tables.packaged(ReporterRow, __package__ or "", "reporters.toml", "reporter"))


@cache
def devices() -> tuple[DeviceRow, ...]:
    """Return the kinds of devices in the order of their file."""
    return tuple(tables.packaged(DeviceRow, __package__ or "", "devices.toml", "device"))


@cache
def log_lines() -> Mapping[str, LogRow]:
    """Return the log lines by name."""
    rows = tables.packaged(LogRow, __package__ or "", "logs.toml", "line")
    return {row.name: row for row in rows}


@cache
def faults() -> tuple[FaultRow, ...]:
    """Return the faults in the order of their file."""
    return tuple(tables.packaged(FaultRow, __package__ or "", "faults.toml", "fault"))
