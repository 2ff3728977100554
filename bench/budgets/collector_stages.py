"""The collector's stages in this process: restart with a full window, and replay.

Each is the real code on a real journal.
"""

import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.stepped import SteppedStages
from rankscope.collector.evaluation.snapshots import SnapshotFile
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.entries import JournalEntry
from rankscope.collector.journal.journal import FileJournal
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.collector.replay.replay import ReplayRun
from rankscope.collector.settings.journal import JournalSettings
from rankscope.formats.otlp import encode
from rankscope.vocabulary.clock import SlewedClock
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

from .pool import PreparedRequest
from .stream import RANKS_A_HOST, SampleStream

START = 1_772_438_400.0
SECOND_NS = 1_000_000_000
REPLAY_HOSTS, REPLAY_SECONDS, PERIOD_SECONDS = 8, 600, 5
SPARSE_HOURS, SPARSE_PERIOD_SECONDS = 8, 30
RESTART_HOSTS, RESTART_ROUNDS = 2048, 12


def measure(_seconds: float) -> dict[str, Any]:
    """Return what was measured; it takes as long as it takes."""
    return {
        "restart": _restart(),
        "replay_64_ranks": _replayed(_steady_entries()),
        "replay_every_30_seconds": _replayed(_sparse_entries()),
    }


class _OpenSink:
    """A store that takes everything and holds nothing."""

    def commit(self, changes: Sequence[Any], now: float) -> None: ...

    def enter(self, entered: Any, changes: Sequence[Any], now: float) -> None:
        """Take an action."""


def _restart() -> dict[str, Any]:
    pipeline = DetectionPipeline(detectors=())
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as name:
        folder = Path(name)
        snapshots = SnapshotFile(folder / "snapshot")

        def stages(
            pipeline: DetectionPipeline, journal: FileJournal, decisions: FileJournal
        ) -> SteppedStages[DetectionPipeline]:
            return SteppedStages(
                pipeline=pipeline,
                journal=journal,
                decisions=decisions,
                sink=_OpenSink(),
                clock=SlewedClock(),
                health=CollectorHealth(),
                snapshots=snapshots,
            )

        with journals(folder) as (journal, decisions):
            running = stages(pipeline, journal, decisions)
            running.recover()
            stream = SampleStream(hosts=RESTART_HOSTS, hosts_a_request=10)
            pool = [PreparedRequest.of(body) for body in stream.round(time.time())]
            for number in range(RESTART_ROUNDS):
                for row in pool:
                    body = row.later(number, time.time())
                    running.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
                running.step()
            began = time.perf_counter()
            snapshots.write(running.consumer.snapshot())
            wrote = time.perf_counter() - began
            began = time.perf_counter()
            snapshots.fork(running.consumer.snapshot())
            paused = time.perf_counter() - began
            snapshots.wait()
        size = (folder / "snapshot").stat().st_size
        with journals(folder) as (journal, decisions):
            again = stages(DetectionPipeline(detectors=()), journal, decisions)
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


def _replayed(entries: Iterator[JournalEntry]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder:
        first = last = 0.0
        count = 0
        with journals(Path(folder)) as (journal, _):
            for entry in entries:
                first, last, count = first or entry.at, entry.at, count + 1
                journal.write([entry])
        began = time.perf_counter()
        replay = ReplayRun(pipeline=DetectionPipeline(), warn=print, failed=_raise)
        documents = replay.run(Path(folder))
        took = time.perf_counter() - began
    return {
        "entries": count,
        "recorded_seconds": round(last - first),
        "seconds": round(took, 2),
        "times_real_time": round((last - first) / took),
        "incidents": len(documents),
    }


def _steady_entries() -> Iterator[JournalEntry]:
    stream = SampleStream(hosts=REPLAY_HOSTS, hosts_a_request=1)
    for second in range(0, REPLAY_SECONDS, PERIOD_SECONDS):
        for number, body in enumerate(stream.round(START + second)):
            at_ns = int((START + second + 0.3) * SECOND_NS) + number * 100_000_000
            yield JournalEntry(PayloadKind.METRICS_PROTOBUF, at_ns, body)


def _sparse_entries() -> Iterator[JournalEntry]:
    resource = TelemetryResource(host="gpu-1", job="sparse")
    pairs = attributes({"rank": 0})
    for step in range(SPARSE_HOURS * 3600 // SPARSE_PERIOD_SECONDS):
        at = START + step * SPARSE_PERIOD_SECONDS
        samples = [
            Sample("training.step", step, at, pairs),
            Sample("training.step.duration", 29.0 + 0.1 * (step % 7), at, pairs),
            Sample("training.loss", 2.0 + 0.01 * (step % 5), at, pairs),
        ]
        body = encode.metrics_request([(resource, samples)])
        yield JournalEntry(PayloadKind.METRICS_PROTOBUF, int((at + 0.2) * SECOND_NS), body)


@contextmanager
def journals(folder: Path) -> Generator[tuple[FileJournal, FileJournal]]:
    """Open the two partitions of a journal in a folder."""
    journal = FileJournal(folder / "journal", JournalSettings())
    decisions = FileJournal(folder / "journal" / "evaluation", JournalSettings())
    try:
        yield journal, decisions
    finally:
        journal.close()
        decisions.close()


def _raise(_stage: str, error: Exception) -> None:
    raise error
