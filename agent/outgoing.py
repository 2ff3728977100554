"""What leaves this node: samples and events gathered by resource, encoded, put into the spool.

The main thread only gathers; encoding, compressing and the disk are another thread's, so that a
slow disk never keeps the inbox waiting. Both hand-overs are bounded and count what they drop.
"""

import logging
import queue
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from ..formats.otlp import encode
from ..vocabulary.samples import Event, Sample, TelemetryResource
from .health import AgentHealth
from .spool import DiskSpool

METRICS = 1
LOGS = 2
"""Kinds of records, as the collector's journal numbers them."""

_MOST = 100_000
"""Samples that may wait, gathered or for the disk: some 40 MiB."""
_BATCH = 20_000
_WAITING = 64

_log = logging.getLogger(__name__)

Groups = list[tuple[TelemetryResource, Sequence[Sample]]]
EventGroups = list[tuple[TelemetryResource, Sequence[Event]]]


class OutgoingTelemetry:
    """Gathers on the thread that calls it; `start` begins the thread that encodes and spools."""

    def __init__(
        self,
        *,
        spool: DiskSpool,
        health: AgentHealth,
        now: Callable[[], float],
        spooled: Callable[[], None],
    ) -> None:
        self._spool = spool
        self._health = health
        self._now = now
        self._spooled = spooled
        self._samples: dict[TelemetryResource, list[Sample]] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._handed = 0
        """Samples that the other thread has yet to spool."""
        self._queue: queue.Queue[tuple[Groups, EventGroups] | None] = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._write, name="spooling", daemon=True)

    def start(self) -> None:
        """Begin to encode and spool."""
        self._thread.start()

    def add(self, resource: TelemetryResource, samples: Iterable[Sample]) -> None:
        """Gather samples for the next flush."""
        added = list(samples)
        if self._handed + self._count + len(added) > _MOST:
            self._health.count("samples_dropped", "full", by=len(added))
            return
        self._count += len(added)
        self._samples.setdefault(resource, []).extend(added)

    def emit(self, resource: TelemetryResource, events: Sequence[Event]) -> None:
        """Send events at once."""
        if events:
            self._hand_over([], [(resource, list(events))])

    @property
    def gathered(self) -> int:
        """Return how many samples wait for the next flush."""
        return self._count

    def flush(self) -> None:
        """Send what was gathered."""
        if not self._samples:
            return
        groups: Groups = list(self._samples.items())
        self._samples = {}
        self._count = 0
        self._hand_over(groups, [])

    def close(self, *, timeout: float) -> None:
        """Send what was gathered, and wait until it is in the spool, or for so many seconds."""
        self.flush()
        try:
            self._queue.put(None, timeout=timeout)
        except queue.Full:
            return
        self._thread.join(timeout)

    def _hand_over(self, groups: Groups, sent: EventGroups) -> None:
        count = sum(len(samples) for _, samples in groups)
        try:
            self._queue.put_nowait((groups, sent))
            with self._lock:
                self._handed += count
        except queue.Full:
            self._health.count(
                "samples_dropped", "spool_busy", by=count + sum(len(events) for _, events in sent)
            )

    def _write(self) -> None:
        while (item := self._queue.get()) is not None:
            groups, sent = item
            for part in _parts(groups):
                count = sum(len(samples) for _, samples in part)
                self._store(METRICS, partial(encode.metrics_request, part), count)
                with self._lock:
                    self._handed -= count
            if sent:
                count = sum(len(events) for _, events in sent)
                self._store(LOGS, partial(encode.logs_request, sent), count)
            self._spooled()

    def _store(self, kind: int, encoded: Callable[[], bytes], count: int) -> None:
        try:
            body = encoded()
        except Exception:  # noqa: BLE001  the edge of one delivery
            # The inbox lets nothing in that cannot be written; should it ever, this batch is the
            # price, not the agent.
            self._health.count("samples_dropped", "encode", by=count)
            _log.exception("a batch could not be encoded")
            return
        self._spool.append(kind, int(self._now() * 1e9), _gzip(body))


def _parts(groups: Groups) -> Iterator[Groups]:
    """Yield groups in batches of a size that any collector takes."""
    part: Groups = []
    room = _BATCH
    for resource, samples in groups:
        for start in range(0, len(samples), _BATCH):
            piece = samples[start : start + _BATCH]
            if part and len(piece) > room:
                yield part
                part, room = [], _BATCH
            part.append((resource, piece))
            room -= len(piece)
    if part:
        yield part


def _gzip(body: bytes) -> bytes:
    return zlib.compress(body, level=1, wbits=31)  # 31: with gzip's header
