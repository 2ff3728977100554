"""A collector without threads over a real pipeline, journal and store, and a job that feeds it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SetClock

from bench.stepped import SteppedStages
from rankscope.collector.evaluation import rereading
from rankscope.collector.evaluation.rereading import RereadPlan
from rankscope.collector.evaluation.snapshots import SnapshotFile
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.settings.journal import JournalSettings
from rankscope.collector.store import IncidentDatabaseStore
from rankscope.formats.otlp import encode
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

START = 1_772_438_400.0


@dataclass
class Live:
    """A collector in a folder. The clock is moved by `feed` and `wait`."""

    folder: Path
    reread_seconds: float = 1200.0
    new_pipeline: Callable[[], Any] = DetectionPipeline
    clock: SetClock = field(default_factory=lambda: SetClock(START))
    announced: list[tuple[str, str, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = IncidentDatabaseStore(f"sqlite:///{self.folder / 'incidents.db'}")
        self.start()

    def start(self) -> None:
        self.journal = FileJournal(self.folder / "journal", JournalSettings())
        self.decisions = FileJournal(self.folder / "journal" / "evaluation", JournalSettings())
        self.health = CollectorHealth()
        self.snapshots = SnapshotFile(self.folder / "snapshot")
        self.stages: SteppedStages[Any] = SteppedStages(
            pipeline=self.new_pipeline(),
            journal=self.journal,
            decisions=self.decisions,
            sink=self,
            clock=self.clock,
            health=self.health,
            snapshots=self.snapshots,
            rereading=RereadPlan(
                seconds=lambda _now: self.reread_seconds,
                past=lambda since: rereading.past(self.store, since),
                decided_until=lambda: self.store.newest_change_at() or 0.0,
            ),
        )
        self.stages.recover()

    def commit(self, changes: Any, now: float) -> None:
        self.announced.extend((row.kind, row.incident.id, row.notify) for row in changes)
        self.store.commit(changes, now)

    def enter(self, entered: RecordedAction, changes: Any, now: float) -> None:
        self.announced.extend((row.kind, row.incident.id, row.notify) for row in changes)
        self.store.enter(entered, changes, now)

    def snapshot(self) -> None:
        self.snapshots.write(self.stages.consumer.snapshot())

    def close(self) -> None:
        """End as kill -9 does: nothing is noted, nothing handed over."""
        self.journal.close()
        self.decisions.close()

    def end(self) -> None:
        self.close()
        self.store.close()

    def crash(self) -> None:
        self.close()
        self.start()

    def take(self, body: bytes, kind: PayloadKind = PayloadKind.METRICS_PROTOBUF) -> None:
        self.stages.submit(Payload(kind, body))
        self.stages.step()

    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.at += 1
            self.stages.step()

    def documents(self) -> list[dict[str, Any]]:
        rows = self.store.incidents(limit=100).items
        return sorted(rows, key=lambda row: (row["opened_at"], row["id"]))


@pytest.fixture
def new_live(tmp_path) -> Iterator[Callable[..., Live]]:
    """Return a function that starts a collector in a folder of its own."""
    started = []

    def start(name: str = "live", **options: Any) -> Live:
        (tmp_path / name).mkdir()
        started.append(Live(tmp_path / name, **options))
        return started[-1]

    yield start
    for live in started:
        live.end()


@dataclass(frozen=True)
class CalmRun:
    """Incidents of a run, and what was announced of them."""

    documents: list[dict[str, Any]]
    announced: set[tuple[str, str, bool]]


class Job:
    """Eight ranks on four hosts, a step a second; `slow` stretches the compute of rank 3."""

    def __init__(self) -> None:
        self.step = 0

    def second(self, at: float, *, slow: float = 1.0) -> bytes:
        """Return what is reported of the step that ends at a time."""
        self.step += 1
        groups = []
        for host in range(4):
            samples: list[Sample] = []
            for rank in (2 * host, 2 * host + 1):
                pairs = attributes({"rank": rank})
                mine = 0.7 * (slow if rank == 3 else 1.0) + 0.002 * ((rank + self.step) % 3)
                whole = 0.8 + 0.7 * (slow - 1.0)
                info: dict[str, int | str] = {
                    "rank": rank, "local_rank": rank % 2, "world_size": 8, "pid": 100 + rank,
                    "hw.id": f"GPU-{rank}", "framework": "torch",
                }  # fmt: skip
                samples += [
                    Sample("training.rank.info", 1, at, attributes(info)),
                    Sample("training.progress.age", 0.0, at, pairs),
                    Sample("training.step", self.step, at, pairs),
                    Sample("training.step.duration", whole, at, pairs),
                    Sample("training.compute.duration", mine, at, pairs),
                    Sample("training.comm.duration", whole - mine - 0.02, at, pairs),
                    Sample("training.data.duration", 0.02, at, pairs),
                ]
            groups.append((TelemetryResource(host=f"gpu-{host}", job="run-1"), samples))
        return encode.metrics_request(groups)


@pytest.fixture
def job() -> Job:
    return Job()


SECONDS = 200


def slowness(second: int) -> float:
    """Return how slow rank 3 is in a second of a run with one fault."""
    return 1.6 if 60 <= second < 150 else 1.0


@pytest.fixture
def seconds(job) -> Callable[[Live], Iterator[tuple[int, bytes]]]:
    """Return a function that moves a collector's clock through a run with one fault.

    It yields each second of it with what the job reports then.
    """
    return partial(_seconds, job)


def _seconds(job: Job, live: Live) -> Iterator[tuple[int, bytes]]:
    for second in range(SECONDS):
        live.clock.at += 1
        yield second, job.second(live.clock.at - 0.1, slow=slowness(second))


@pytest.fixture(scope="session")
def calm(tmp_path_factory) -> CalmRun:
    """Return what such a run gives in a collector that nothing disturbs."""
    live = Live(tmp_path_factory.mktemp("calm"))
    for _, body in _seconds(Job(), live):
        live.take(body)
    documents = live.documents()
    live.end()
    assert documents
    return CalmRun(documents, set(live.announced))


@pytest.fixture
def run(job) -> Callable[..., None]:
    """Return a function that runs the job on a collector for some seconds."""

    def go(live: Live, seconds: int, *, slow: float = 1.0) -> None:
        for _ in range(seconds):
            live.clock.at += 1
            live.take(job.second(live.clock.at - 0.1, slow=slow))

    return go
