"""What was found in a folder: telemetry, the lines that it came from, and what is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.samples import Event, Sample, TelemetryResource


@dataclass(frozen=True, slots=True)
class LogQuote:
    """A line of a log that says something about the fault; `rank` None where it names none.

    role: root, cascade, confirmation, or background for what is not the job's. at: seconds since
    the epoch, None where the line has no time. host: "" where it is not known.
    """

    file: str
    line: int
    at: float | None
    rank: int | None
    signature: str
    role: str
    text: str
    host: str = ""

    @property
    def telling(self) -> bool:
        """Return whether it points at a fault by itself, or follows from one."""
        return self.role in ("root", "cascade")

    def document(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class UnknownValues:
    """How many lines of a file look like values and were not understood; the first of them."""

    file: str
    count: int
    line: int
    text: str


def _ignored(name: str) -> None:
    del name


@dataclass(slots=True)
class ArtefactContents:
    """All that was read. `read` says how each file was understood, `unread` why one was not.

    `missing` holds what a diagnosis would be surer with. `layout` holds the ranks of every parallel
    group by kind, where it can be known. Times are seconds since the epoch.
    """

    samples: list[tuple[TelemetryResource, Sample]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    quotes: list[LogQuote] = field(default_factory=list)
    read: dict[str, str] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unknown: list[UnknownValues] = field(default_factory=list[UnknownValues])
    """Files with lines that look like values of training and are of no form that is known."""
    layout: Mapping[str, list[str]] = field(default_factory=dict)
    failed_checks: list[str] = field(default_factory=list)
    """Checks of nodes by other tools that are slow or failed, in words."""
    world_size: int = 0
    until: float | None = None
    """When the newest file was written, where that is known."""
    shown: float | None = None
    """When the last table of devices showed a moment, None where they are not known by tables."""
    open_end: LogQuote | None = None
    """Where a log ends that says nothing of a fault, nor that its training is done."""
    reading: Callable[[str], None] = _ignored
    """Gets the name of each log before it is read: large ones take a while."""

    @property
    def telling(self) -> bool:
        """Return whether any quoted line points at a fault by itself, or follows from one."""
        return any(quote.telling for quote in self.quotes)

    @property
    def apart(self) -> list[LogQuote]:
        """Return the quoted lines that are not of this job, or that it outlived."""
        return [quote for quote in self.quotes if quote.role == "background"]

    @property
    def newest(self) -> float:
        """Return when the last thing happened that anything tells of, 0 where nothing does."""
        times = [sample.at for _, sample in self.samples]
        return max([*times, *(event.at for event in self.events)], default=0.0)

    def understood(self, name: str, how: str) -> None:
        """Note that a file says something after all, `how` where nothing was said of it before."""
        self.unread.pop(name, None)
        self.read.setdefault(name, how)
