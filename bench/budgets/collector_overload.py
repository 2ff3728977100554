"""The collector's stages with an evaluation ten times over budget, and with a blocked database.

Both last at least a minute, on the real code and a real journal in this process, with the part in
question replaced. What is measured is what a sender and an operator see: how soon requests are
acknowledged, whether all of them are kept, how far evaluation is behind, what it skipped.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rankscope.alerts.actions import PersonAction
from rankscope.collector.flows.stages import CollectorStages
from rankscope.collector.health.health import CollectorHealth
from rankscope.collector.intake.payloads import Payload
from rankscope.collector.journal.actions import RecordedAction
from rankscope.collector.journal.kinds import PayloadKind
from rankscope.collector.pipeline.pipeline import DetectionPipeline
from rankscope.detectors import catalogue
from rankscope.detectors.contract import Detector
from rankscope.detectors.window import JobWindow
from rankscope.vocabulary.clock import SlewedClock
from rankscope.vocabulary.findings import Finding

from .collector_stages import journals
from .pool import PreparedRequest
from .stream import SampleStream

HOSTS, HOSTS_A_REQUEST = 256, 16
"""2,048 ranks; a round of requests each second."""

ROUND_SECONDS = 1.0
EVALUATION_SECONDS = 10.0
"""What an evaluation takes, of a second that it may."""

SHORTEST_SECONDS = 60.0
SWITCH_SECONDS = 0.001
"""As the running collector sets it."""


def measure(seconds: float) -> dict[str, Any]:
    """Return what was measured; each of the two lasts so many seconds, and a minute at least."""
    seconds = max(seconds, SHORTEST_SECONDS)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        return {
            "ranks": HOSTS * 8,
            "evaluation_10_times_over_budget": _loaded(seconds, detectors=[_SlowDetector()]),
            "database_blocked": _loaded(seconds, blocked=True),
        }
    finally:
        sys.setswitchinterval(before)


class _SlowDetector(Detector):
    """A detector that computes for ten seconds, where one may pass."""

    name = "slow"
    kinds: tuple[str, ...] = ()

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:  # noqa: ARG002
        """Compute nothing, in Python, as a detector of this cost would."""
        until = time.perf_counter() + EVALUATION_SECONDS
        while time.perf_counter() < until:
            pass
        return ()


class _BlockedSink:
    """A store that takes nothing until it is let go."""

    def __init__(self, *, blocked: bool) -> None:
        self.free = threading.Event()
        self.actions = 0
        if not blocked:
            self.free.set()

    def commit(self, changes: Sequence[Any], now: float) -> None:  # noqa: ARG002
        self.free.wait()

    def enter(self, entered: Any, changes: Sequence[Any], now: float) -> None:  # noqa: ARG002
        """Take an action."""
        self.free.wait()
        self.actions += 1


def _loaded(
    seconds: float, *, detectors: Sequence[Detector] = (), blocked: bool = False
) -> dict[str, Any]:
    health, sink = CollectorHealth(), _BlockedSink(blocked=blocked)
    stream = SampleStream(hosts=HOSTS, hosts_a_request=HOSTS_A_REQUEST)
    pool = [PreparedRequest.of(body) for body in stream.round(time.time())]
    waits: list[float] = []
    lags: list[float] = []
    sent = actions = 0
    with (
        tempfile.TemporaryDirectory(prefix="rankscope-bench-") as folder,
        journals(Path(folder)) as (journal, decisions),
    ):
        stages = CollectorStages(
            pipeline=DetectionPipeline(detectors=(*catalogue.detectors(), *detectors)),
            journal=journal,
            decisions=decisions,
            sink=sink,
            clock=SlewedClock(),
            health=health,
        )
        stages.start()
        for payload in _payloads(pool, seconds):
            began = time.perf_counter()
            outcome = stages.submit(payload).result(60)
            waits.append(time.perf_counter() - began)
            sent += outcome.accepted if payload.kind is not PayloadKind.ACTION else 0
            actions += payload.kind is PayloadKind.ACTION
            lags.append(stages.consumer.lag())
        held = sink.actions
        began = time.perf_counter()
        sink.free.set()
        stages.stop()
        stopped = time.perf_counter() - began
        kept = sum(1 for entry, _ in journal.read(None) if entry.kind is not PayloadKind.STOP)
    waits.sort()
    return {
        "seconds": round(seconds),
        "requests": len(waits),
        "requests_kept": kept,
        "samples": sent,
        "acknowledged_p50_seconds": round(waits[len(waits) // 2], 4),
        "acknowledged_p99_seconds": round(waits[int(len(waits) * 0.99)], 4),
        "acknowledged_max_seconds": round(waits[-1], 4),
        "lag_max_seconds": round(max(lags), 2),
        "skipped_seconds": int(_value(health.skipped_seconds)),
        "actions": actions,
        "actions_stored_meanwhile": held,
        "actions_stored": sink.actions,
        "stopped_in_seconds": round(stopped, 2),
    }


def _payloads(pool: list[PreparedRequest], seconds: float) -> Iterator[Payload]:
    """Yield a round of requests and one action a second."""
    until = time.monotonic() + seconds
    step = 0
    while (began := time.monotonic()) < until:
        for row in pool:
            yield Payload(PayloadKind.METRICS_PROTOBUF, row.later(step, time.time()))
        action = PersonAction(kind="silence", incident=None, at=time.time(), by="bench", detail={})
        yield Payload(PayloadKind.ACTION, RecordedAction.new(action).pack())
        step += 1
        time.sleep(max(0.0, began + ROUND_SECONDS - time.monotonic()))


def _value(counter: Any) -> float:
    return float(next(iter(counter.collect())).samples[0].value)
