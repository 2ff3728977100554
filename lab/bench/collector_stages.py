"""The collector's stages in this process: overload, a blocked database, restart, replay.

Each is the real code on a real journal, with the part in question replaced: a detector that takes
three times the second it has, a database that answers nobody. What is measured is what a sender and
an operator see: how soon requests are acknowledged, how far evaluation is behind, what is lost.
"""

import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...collector.evaluation.snapshots import Snapshots
from ...collector.health import Health
from ...collector.intake.payloads import Payload
from ...collector.journal.entries import Entry
from ...collector.journal.journal import Journal
from ...collector.journal.kinds import Kind
from ...collector.journal.settings import JournalSettings
from ...collector.pipeline import Pipeline
from ...collector.replay import Replay
from ...collector.stages import Stages
from ...detectors import catalogue
from ...detectors.contract import Detector
from ...detectors.window import JobWindow
from ...formats.otlp import encode
from ...vocabulary.clock import SlewedClock
from ...vocabulary.findings import Finding
from ...vocabulary.samples import Resource, Sample, attributes
from .pool import Prepared
from .stream import RANKS_A_HOST, Stream

START = 1_772_438_400.0
SECOND_NS = 1_000_000_000
REPLAY_HOSTS, REPLAY_SECONDS, PERIOD_SECONDS = 8, 600, 5
SPARSE_HOURS, SPARSE_PERIOD_SECONDS = 8, 30
RESTART_HOSTS, RESTART_ROUNDS = 2048, 12
OVERLOADED_SECONDS = 3.0


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured; overload and a blocked database last so many seconds each."""
    return {
        "overloaded": _loaded(seconds, detector=_Slow()),
        "blocked_database": _loaded(seconds, blocked=True),
        "restart": _restart(),
        "replay_64_ranks": _replayed(_steady_entries()),
        "replay_every_30_seconds": _replayed(_sparse_entries()),
    }


class _Slow(Detector):
    """A detector that takes three seconds, where one may pass."""

    name = "slow"
    kinds: tuple[str, ...] = ()

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:  # noqa: ARG002
        """Compute nothing, in Python, as a detector of this cost would."""
        until = time.perf_counter() + OVERLOADED_SECONDS
        while time.perf_counter() < until:
            pass
        return ()


class _Sink:
    """A store that takes nothing until it is let go."""

    def __init__(self, *, blocked: bool) -> None:
        self.free = threading.Event()
        self.actions = self.changes = 0
        if not blocked:
            self.free.set()

    def commit(self, changes: Sequence[Any], now: float) -> None:  # noqa: ARG002
        """Take changes."""
        self.free.wait()
        self.changes += len(changes)

    def enter(self, entered: Any, changes: Sequence[Any], now: float) -> None:  # noqa: ARG002
        """Take an action."""
        self.free.wait()
        self.actions += 1


def _loaded(seconds: float, *, detector: Any = None, blocked: bool = False) -> dict[str, Any]:
    detectors = (*catalogue.detectors(), *([detector] if detector else []))
    health, sink = Health(), _Sink(blocked=blocked)
    with (
        tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder,
        _journals(Path(folder)) as (journal, decisions),
    ):
        stages = Stages(
            pipeline=Pipeline(detectors=detectors),
            journal=journal,
            decisions=decisions,
            sink=sink,
            clock=SlewedClock(),
            health=health,
        )
        stages.start()
        stream = Stream(hosts=REPLAY_HOSTS, hosts_a_request=REPLAY_HOSTS)
        waits: list[float] = []
        lags: list[float] = []
        until = time.monotonic() + seconds
        sent = 0
        while time.monotonic() < until:
            for body in stream.round(time.time()):
                began = time.perf_counter()
                sent += stages.submit(Payload(Kind.METRICS_PROTOBUF, body)).result(60).accepted
                waits.append(time.perf_counter() - began)
            lags.append(stages.consumer.lag())
            time.sleep(0.1)
        sink.free.set()
        stages.stop()
        kept = sum(1 for entry, _ in journal.read(None) if entry.kind is not Kind.STOP)
    waits.sort()
    return {
        "requests": len(waits),
        "samples": sent,
        "requests_in_the_journal": kept,
        "acknowledged_p50_seconds": round(waits[len(waits) // 2], 4),
        "acknowledged_p99_seconds": round(waits[int(len(waits) * 0.99)], 4),
        "acknowledged_max_seconds": round(waits[-1], 4),
        "lag_max_seconds": round(max(lags), 2),
        "skipped_seconds": int(_value(health.skipped_seconds)),
    }


def _restart() -> dict[str, Any]:
    pipeline = Pipeline(detectors=())
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as name:
        folder = Path(name)
        snapshots = Snapshots(folder / "snapshot")

        def stages(pipeline: Pipeline, journal: Journal, decisions: Journal) -> Stages[Pipeline]:
            return Stages(
                pipeline=pipeline,
                journal=journal,
                decisions=decisions,
                sink=_Sink(blocked=False),
                clock=SlewedClock(),
                health=Health(),
                snapshots=snapshots,
            )

        with _journals(folder) as (journal, decisions):
            running = stages(pipeline, journal, decisions)
            running.recover()
            stream = Stream(hosts=RESTART_HOSTS, hosts_a_request=10)
            pool = [Prepared.of(body) for body in stream.round(time.time())]
            for number in range(RESTART_ROUNDS):
                for row in pool:
                    body = row.later(number, time.time())
                    running.submit(Payload(Kind.METRICS_PROTOBUF, body))
                running.step()
            began = time.perf_counter()
            snapshots.write(running.consumer.snapshot())
            wrote = time.perf_counter() - began
            began = time.perf_counter()
            snapshots.fork(running.consumer.snapshot())
            paused = time.perf_counter() - began
            snapshots.wait()
        size = (folder / "snapshot").stat().st_size
        with _journals(folder) as (journal, decisions):
            again = stages(Pipeline(detectors=()), journal, decisions)
            began = time.perf_counter()
            again.recover()
            took = time.perf_counter() - began
    return {
        "ranks": RESTART_HOSTS * RANKS_A_HOST,
        "series": len(pipeline.table),
        "snapshot_bytes": size,
        "written_in_seconds": round(wrote, 2),
        "evaluation_paused_by_a_fork_seconds": round(paused, 3),
        "restart_seconds": round(took, 2),
    }


def _replayed(entries: Iterator[Entry]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        first = last = 0.0
        count = 0
        with _journals(Path(folder)) as (journal, _):
            for entry in entries:
                first, last, count = first or entry.at, entry.at, count + 1
                journal.write([entry])
        began = time.perf_counter()
        replay = Replay(pipeline=Pipeline(), warn=print, failed=_raise)
        documents = replay.run(Path(folder))
        took = time.perf_counter() - began
    return {
        "entries": count,
        "recorded_seconds": round(last - first),
        "seconds": round(took, 2),
        "times_real_time": round((last - first) / took),
        "incidents": len(documents),
    }


def _steady_entries() -> Iterator[Entry]:
    stream = Stream(hosts=REPLAY_HOSTS, hosts_a_request=1)
    for second in range(0, REPLAY_SECONDS, PERIOD_SECONDS):
        for number, body in enumerate(stream.round(START + second)):
            at_ns = int((START + second + 0.3) * SECOND_NS) + number * 100_000_000
            yield Entry(Kind.METRICS_PROTOBUF, at_ns, body)


def _sparse_entries() -> Iterator[Entry]:
    resource = Resource(host="gpu-1", job="sparse")
    pairs = attributes({"rank": 0})
    for step in range(SPARSE_HOURS * 3600 // SPARSE_PERIOD_SECONDS):
        at = START + step * SPARSE_PERIOD_SECONDS
        samples = [
            Sample("training.step", step, at, pairs),
            Sample("training.step.duration", 29.0 + 0.1 * (step % 7), at, pairs),
            Sample("training.loss", 2.0 + 0.01 * (step % 5), at, pairs),
        ]
        body = encode.metrics_request([(resource, samples)])
        yield Entry(Kind.METRICS_PROTOBUF, int((at + 0.2) * SECOND_NS), body)


@contextmanager
def _journals(folder: Path) -> Generator[tuple[Journal, Journal]]:
    journal = Journal(folder / "journal", JournalSettings())
    decisions = Journal(folder / "journal" / "evaluation", JournalSettings())
    try:
        yield journal, decisions
    finally:
        journal.close()
        decisions.close()


def _raise(_stage: str, error: Exception) -> None:
    raise error


def _value(counter: Any) -> float:
    return float(next(iter(counter.collect())).samples[0].value)
