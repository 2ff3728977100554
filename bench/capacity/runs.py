"""Measured runs: telemetry of jobs of several sizes through the stages of a collector, in process.

Everything of a collector but HTTP: decoding, journal with fsync, windows, detectors and causes of
every second. The clock is set, so a run takes as long as the work, and CPU time is what counts.
"""

import gc
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.stepped import SteppedStages
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.formats import segments

from ..budgets.collector_stages import journals
from ..budgets.pool import PreparedRequest
from ..budgets.stream import RANKS_A_HOST, SampleStream

START = 1_772_438_400.0
HOSTS_A_REQUEST = 10
WARM_SECONDS, SECONDS = 60, 120


@dataclass(frozen=True, slots=True)
class JobSize:
    """One job: its ranks, and how often each series of them is reported (seconds)."""

    ranks: int
    period: int


@dataclass(frozen=True, slots=True)
class SizeRun:
    """What a size cost, a second of its telemetry; memory and journal in bytes."""

    size: JobSize
    series: int
    samples_a_second: float
    messages_a_second: float
    cpu_cores: float
    window_bytes: int
    journal_bytes_a_sample: float

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "ranks": self.size.ranks,
            "period_seconds": self.size.period,
            "series": self.series,
            "samples_a_second": round(self.samples_a_second, 1),
            "messages_a_second": round(self.messages_a_second, 2),
            "cpu_cores": round(self.cpu_cores, 5),
            "window_bytes": self.window_bytes,
            "journal_bytes_a_sample": round(self.journal_bytes_a_sample, 2),
        }


class _SetClock:
    at = START

    def now(self) -> float:
        return self.at


class _CountingSink:
    def commit(self, changes: Sequence[Any], now: float) -> None: ...

    def enter(self, entered: Any, changes: Sequence[Any], now: float) -> None:
        """Take an action."""


def measured(size: JobSize, *, seconds: int = SECONDS, warm: int = WARM_SECONDS) -> SizeRun:
    """Run one size; return what it cost."""
    clock, pipeline = _SetClock(), DetectionPipeline()
    stream = SampleStream(hosts=max(size.ranks // RANKS_A_HOST, 1), hosts_a_request=HOSTS_A_REQUEST)
    pool = [PreparedRequest.of(body) for body in stream.round(START)]
    with tempfile.TemporaryDirectory(prefix="rankscope-capacity-") as name:
        folder = Path(name)
        with journals(folder) as (journal, decisions):
            stages = SteppedStages(
                pipeline=pipeline,
                journal=journal,
                decisions=decisions,
                sink=_CountingSink(),
                clock=clock,
                health=CollectorHealth(),
            )
            stages.recover()
            used, samples, messages, kept = 0.0, 0, 0, 0
            for second in range(warm + seconds):
                if second == warm:
                    gc.collect()
                    kept = segments.size(folder / "journal")
                bodies: list[bytes] = []
                if second % size.period == 0:
                    step = second // size.period
                    bodies = [row.later(step, START + second) for row in pool]
                clock.at = START + second + 0.3
                began = time.process_time()
                for body in bodies:
                    stages.submit(Payload(PayloadKind.METRICS_PROTOBUF, body))
                stages.step()
                clock.at = START + second + 1.0
                stages.step()
                if second >= warm:
                    used += time.process_time() - began
                    messages += len(bodies)
                    samples += sum(row.points for row in pool) if bodies else 0
            kept = segments.size(folder / "journal") - kept
    return SizeRun(
        size,
        len(pipeline.table),
        samples / seconds,
        messages / seconds,
        used / seconds,
        pipeline.windows.nbytes,
        kept / max(samples, 1),
    )
