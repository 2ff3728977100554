"""What leaves the agent of the lines that training jobs log: bounded, attributed, once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...formats.training_logs import LoggedLine
from ...vocabulary.samples import Event, Sample
from ..health import AgentHealth
from ..rank_processes import RankProcess
from ..storms import StormFolding
from .owners import LogOwners
from .sources import LogSource

_MOST_SAMPLES = 20_000
"""Samples of one turn; what follows is left out, as if the lines had not been read."""

_MOST_KINDS = 4096
"""Kinds of events of which the newest is remembered, beyond those that go on."""


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What the logs of one attempt of a job reported in one turn.

    host: where the ranks run that it is about, "" where that is not known; None: here.
    """

    job: str
    attempt: int | None
    samples: Sequence[Sample]
    events: Sequence[Event]
    host: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchedProcesses:
    """The processes of now to which a launcher gave a rank and nobody an agent, one a rank."""

    processes: tuple[RankProcess, ...]


class LogLines:
    """Delivers what lines say: a value once, whoever logs it; of many events like one a count.

    rank_of: the rank of a process (its id) that writes into a file of several.
    """

    def __init__(
        self,
        *,
        deliver: Callable[[LogBatch], None],
        rank_of: Callable[[LogSource, object], int | None],
        health: AgentHealth,
    ) -> None:
        self._deliver = deliver
        self._rank_of = rank_of
        self._health = health
        self._owners = LogOwners()
        self._storms: StormFolding[tuple[str, object, object]] = StormFolding()
        self._newest: dict[tuple[str, object, object], tuple[LogSource, Event]] = {}
        self._samples = 0

    def begin(self) -> None:
        self._samples = 0

    def take(self, source: LogSource, logged: Sequence[LoggedLine], now: float) -> None:
        """Deliver what lines of a file say."""
        samples: list[Sample] = []
        events: list[Event] = []
        for line in logged:
            kept = self._owners.kept(source, line.samples)
            if (lost := len(line.samples) - len(kept)) > 0:
                self._health.count("log_samples_double", by=lost)
            if len(kept) > _MOST_SAMPLES - self._samples:
                self._health.count("log_samples_dropped", by=len(kept))
            else:
                samples += kept
                self._samples += len(kept)
            named = (self._with_rank(source, event) for event in line.events)
            leaving = (self._folded(source, event, now) for event in named)
            events.extend(event for event in leaving if event is not None)
        if samples or events:
            self._deliver(LogBatch(source.job, source.attempt, samples, events))

    def repeated(self, now: float) -> None:
        """Deliver the faults that were held back since there were many like them, counted."""
        for key, count in self._storms.due(now):
            held = self._newest.get(key)
            if held is not None and held[1].name == "log.fault":
                source, event = held
                self._deliver(LogBatch(source.job, source.attempt, [], [_counted(event, count)]))

    def forget(self, source: LogSource) -> None:
        """Let others own the values that a file logged: it has ended."""
        self._owners.forget(source)

    def _with_rank(self, source: LogSource, event: Event) -> Event:
        """Name the rank that a line of NCCL's is about where several write into one file."""
        if event.name != "collective.communicator" or "rank" in event.attributes:
            return event
        rank = self._rank_of(source, event.attributes.get("pid"))
        if rank is None:
            return event
        return Event(event.name, event.at, {**event.attributes, "rank": rank})

    def _folded(self, source: LogSource, event: Event, now: float) -> Event | None:
        """Return an event that is to leave now, None where it is one of many like it."""
        what = event.attributes.get("signature") or event.attributes.get("what") or ""
        if event.name == "process.exit":
            what = event.attributes.get("pid", "")
        elif event.name == "collective.communicator":
            what = event.attributes.get("communicator", "")
        key = (f"{source.job}\0{event.name}", what, event.attributes.get("rank"))
        if len(self._newest) > _MOST_KINDS:
            self._newest = {one: held for one, held in self._newest.items() if one in self._storms}
        self._newest[key] = (source, event)
        count = self._storms.take(key, now)
        return _counted(event, count) if count else None


def _counted(event: Event, count: int) -> Event:
    if count <= 1 or event.name != "log.fault":
        return event
    return Event(event.name, event.at, {**event.attributes, "count": count})
