"""Fakes of what the stages are given: a clock that is set, a pipeline that remembers its calls."""

import functools
import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastapi._compat.v2
import pytest
from tests.clocks import SetClock

from bench.stepped import SteppedStages
from rankscope.alerts.actions import PersonAction as Done
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.interface import AppendOutcome, Offset
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import MetricsBatch, SeriesTable
from rankscope.vocabulary import entities
from rankscope.vocabulary.counterfactuals import StepCounterfactual
from rankscope.vocabulary.faults import Severity
from rankscope.vocabulary.ids import Fault, IncidentId
from rankscope.vocabulary.incidents import (
    DataQuality,
    Evidence,
    Hypothesis,
    Impact,
    Incident,
    RecommendedAction,
    RootCause,
    Status,
    Symptom,
    TimelineMoment,
    UnknownScore,
    WeeklyLoss,
)
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes


@dataclass(frozen=True)
class FakeIncident:
    id: str
    opened_at: float
    text: str
    status: str = "open"
    jobs: tuple[str, ...] = ("run-1",)
    detected_at: float = 0.0

    def document(self) -> dict[str, Any]:
        return {"id": self.id, "opened_at": self.opened_at, "text": self.text}


@dataclass(frozen=True)
class FakeChange:
    incident: FakeIncident
    kind: str = "incident.updated"
    notify: bool = False


@dataclass
class RememberingPipeline:
    """Remembers every call, and reports at each evaluation a digest of all that it got so far.

    `every_second`: it has something due each second, as a pipeline of a hanging job does.
    """

    table: SeriesTable = field(default_factory=SeriesTable)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    raises: Exception | None = None
    every_second: bool = True
    bounded: Callable[[str, str, int], None] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "bounded": None}

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        points = zip(
            batch.columns.series.tolist(),
            batch.columns.at.tolist(),
            batch.columns.value.tolist(),
            strict=True,
        )
        rows = [(self.table[series].metric, at, value) for series, at, value in points]
        self.calls.append(("metrics", now, tuple(rows)))
        if self.raises:
            raise self.raises

    def events(self, events: Sequence[Event], now: float) -> None:
        self.calls.append(("events", now, tuple((event.name, event.at) for event in events)))

    def act(self, action: Done, now: float) -> list[FakeChange]:
        self.calls.append(("act", now, action.kind, action.incident))
        return []

    def resume(self, started: Any) -> None:
        pass

    def remember(self, incidents: Iterable[Any]) -> None:
        self.calls.extend(("remember", incident.id) for incident in incidents)

    def evaluate_jobs(self, now: float) -> Iterator[list[FakeChange]]:
        self.calls.append(("evaluate", now))
        received = [call for call in self.calls if call[0] != "evaluate"]
        if received:
            identity, text = f"{len(received):04}", f"{now} {received}"
            yield [FakeChange(FakeIncident(identity, received[-1][1], text))]

    def next_due(self) -> float:
        return -math.inf if self.every_second else math.inf


@dataclass
class MemoryJournal:
    """A partition in memory; offsets are ("", number of entries before)."""

    entries: list[JournalEntry] = field(default_factory=list)
    failure: OSError | None = None
    closed: bool = False

    def write(self, entries: Sequence[JournalEntry]) -> AppendOutcome:
        if self.failure is not None:
            return AppendOutcome(0, 0, self.failure)
        before = len(self.entries)
        self.entries.extend(entries)
        ends = [("", before + number + 1) for number in range(len(entries))]
        return AppendOutcome(len(entries), sum(len(entry.body) for entry in entries), None, ends)

    def read(self, after: Offset | None) -> Iterator[tuple[JournalEntry, Offset]]:
        start = 0 if after is None else after[1]
        for number, entry in enumerate(self.entries[start:], start=start + 1):
            yield entry, ("", number)

    def latest(self, seconds: float) -> Iterator[tuple[JournalEntry, Offset]]:
        return self.read(None)

    def holds(self, offset: Offset) -> bool:
        return offset[1] <= len(self.entries)

    def last_at_ns(self) -> int | None:
        return self.entries[-1].at_ns if self.entries else None

    def check(self, *, failed: bool) -> str:
        if self.failure is not None:
            raise self.failure
        return ""

    def trim(self, now: float) -> int:
        return 0

    def close(self) -> None:
        self.closed = True


@dataclass
class MemorySink:
    committed: list[tuple[Any, float]] = field(default_factory=list)
    actions: list[RecordedAction] = field(default_factory=list)
    failure: Exception | None = None

    def commit(self, changes: Sequence[Any], now: float) -> None:
        if self.failure is not None:
            raise self.failure
        self.committed.extend((change, now) for change in changes)

    def enter(self, entered: RecordedAction, changes: Sequence[Any], now: float) -> None:
        self.commit(changes, now)
        self.actions.append(entered)


@pytest.fixture(scope="session", autouse=True)
def _validators_once() -> Iterator[None]:
    """Let FastAPI build the validator of a parameter once, and not for each test's application.

    That is two thirds of what an application costs.
    """
    made: dict[tuple[str, str], object] = {}
    build = fastapi._compat.v2.TypeAdapter  # type: ignore[attr-defined]

    def once(annotated: Any, *, config: Any = None) -> object:
        key = repr(annotated), repr(config)
        if key not in made:
            made[key] = build(annotated, config=config)
        return made[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastapi._compat.v2, "TypeAdapter", once)
        yield


@pytest.fixture(scope="session")
def migrated(tmp_path_factory) -> Path:
    """Return the file of a store that has been made, and holds nothing."""
    path: Path = tmp_path_factory.mktemp("store") / "rankscope.db"
    IncidentDatabaseStore(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def new_sqlite(migrated, tmp_path) -> Callable[[], str]:
    """Return a function that returns the URL of an empty store, made as a copy of one."""

    def make() -> str:
        path = tmp_path / "rankscope.db"
        shutil.copy(migrated, path)
        return f"sqlite:///{path}"

    return make


@pytest.fixture
def store(new_sqlite) -> Iterator[IncidentDatabaseStore]:
    opened = IncidentDatabaseStore(new_sqlite())
    yield opened
    opened.close()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1_700_000_000.25)


@pytest.fixture
def pipeline() -> RememberingPipeline:
    return RememberingPipeline()


@pytest.fixture
def memory_journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def health() -> CollectorHealth:
    return CollectorHealth()


@pytest.fixture
def decisions() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def new_stages(
    pipeline, memory_journal, decisions, sink, clock, health
) -> Callable[..., SteppedStages[Any]]:
    """Return a function that makes stages of the fakes."""
    return functools.partial(
        SteppedStages,
        pipeline=pipeline,
        journal=memory_journal,
        decisions=decisions,
        sink=sink,
        clock=clock,
        health=health,
    )


@pytest.fixture
def stages(new_stages: Callable[..., SteppedStages[Any]]) -> SteppedStages[Any]:
    """Return stages whose threads are not started: tests call `recover` and `step`."""
    return new_stages()


@pytest.fixture
def metrics_body() -> Callable[..., bytes]:
    """Return a function that writes a protobuf request of training.step samples."""

    def body(*values: float, host: str = "gpu-1", at: float = 1_700_000_000.0) -> bytes:
        samples = [
            Sample("training.step", value, at, attributes({"rank": rank}))
            for rank, value in enumerate(values)
        ]
        return encode.metrics_request([(TelemetryResource(host=host, job="run-1"), samples)])

    return body


@pytest.fixture
def logs_body() -> Callable[..., bytes]:
    def body(*names: str, host: str = "gpu-1", at: float = 1_700_000_000.0) -> bytes:
        resource = TelemetryResource(host=host, job="run-1")
        events = [Event(name, at, {"rank": 0}, resource) for name in names]
        return encode.logs_request([(resource, events)])

    return body


@pytest.fixture
def new_incident() -> Callable[..., Incident]:
    """Return a function that makes an incident with one cause, a rank or a host."""

    def make(
        identity: str = "a1",
        *,
        at: float = 1_700_000_000.0,
        updated_at: float | None = None,
        status: Status = "open",
        severity: Severity = "critical",
        jobs: tuple[str, ...] = ("run-1",),
        fault: str = "host.cpu_contention",
        host: str = "gpu-1",
        lost: float = 100.0,
        summary: str = "rank 3 is slow",
        parts: tuple[WeeklyLoss, ...] = (),
        measured: StepCounterfactual | None = None,
    ) -> Incident:
        entity = entities.host(host, (3,))
        signal, window = "system.cpu.utilization", (at - 9, at)
        evidence = Evidence("supports", "cpu", entity, signal, window, 0.99, 0.4, 2.5, "busy")
        cause = Hypothesis(
            1, Fault(fault), entity, 4.2, None, "high", (evidence,),
            (RecommendedAction("now", "stop the neighbour", "top"),), "docs/runbooks/host.md",
        )  # fmt: skip
        return Incident(
            id=IncidentId(identity.ljust(20, "0")),
            jobs=jobs,
            attempt=0,
            cluster="c1",
            status=status,
            severity=severity,
            opened_at=at,
            detected_at=at + 5,
            updated_at=at + 5 if updated_at is None else updated_at,
            resolved_at=at + 60 if status == "resolved" else None,
            summary=summary,
            symptoms=(
                Symptom("job.slow", entities.rank(3, host), at, 1.5, "stragglers", "1.5 x slower"),
            ),
            root_cause=RootCause(
                "provisional",
                "log-odds-1",
                "1",
                (cause,),
                UnknownScore(0.1, ()),
                (),
                DataQuality(("gpu",), 0.0, 0.8),
            ),
            impact=Impact(8, 2, 1.5, lost, lost=parts, counterfactual=measured),
            timeline=(TimelineMoment(at + 5, "opened", "1.5 x slower"),),
        )

    return make
