"""One partition that this collector owns: its pipeline, from the last snapshot on.

Everything it comes to is a function of the stream: whoever owns the partition next reads the same
entries with the same times, and comes to the same incidents under the same ids.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import structlog
from nats.js.errors import APIError

from ...alerts.closed import ClosedIncident
from ...alerts.shared import messages as of_partitions
from ...vocabulary.clock import Clock
from ..evaluation import rereading
from ..evaluation.consumed_log import ConsumedLog
from ..evaluation.consumer import EvaluationConsumer
from ..evaluation.recovery import RecoveryPlan
from ..evaluation.rereading import RereadPlan
from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from ..intake.decoding import DecoderPool
from ..intake.payloads import DecodedPayload, Payload
from ..journal.interface import Offset
from ..pipeline.pipeline import DetectionPipeline
from ..settings.journal import JournalSettings
from ..settings.log import LogSettings
from ..store.errors import StoreError
from ..store.fencing import FencedError, PartitionFence
from ..store.store import IncidentDatabaseStore
from ..store.storing import StoreThread
from . import names
from .aside import AsideStream
from .connection import ERRORS, NatsConnection
from .fenced_sink import FencedSink
from .following import PartitionFollower, decoding
from .health import ClusterHealth
from .partition_log import DecisionStream, PartitionLog
from .snapshots import StoredSnapshots

T = TypeVar("T")

_LOG = structlog.get_logger(__name__)
_AGAIN_SECONDS = 0.5
_STAYS_SECONDS, _RESTORED_SECONDS = 3.0, 60.0
_TAIL_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PartitionParts:
    """What all partitions of a collector share.

    `post` sends another partition a message. `lost` is called with a partition that somebody else
    has taken; `kept` with each action that the store has.
    """

    connection: NatsConnection
    log: LogSettings
    journal: JournalSettings
    store: IncidentDatabaseStore
    clock: Clock
    health: CollectorHealth
    cluster: ClusterHealth
    folder: Path
    owner: str
    pipeline: Callable[[], DetectionPipeline]
    post: Callable[[int, of_partitions.Message], None]
    lost: Callable[[int], None]
    kept: Callable[[str], None]


class OwnedPartition:
    """A partition from its lease to its end. `read` may be called from any thread."""

    def __init__(self, number: int, epoch: int, parts: PartitionParts) -> None:
        self.number = number
        self.epoch = epoch
        self.ready = False
        """Whether its state is restored."""
        self.given = False
        """Whether its state is kept for the next owner."""
        self._parts = parts
        self._snapshot = parts.folder / f"partition-{number}-{epoch}.snapshot"
        self._began = self._restoring = time.monotonic()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._ready_at: float | None = None
        self._defects = DefectLog(health=parts.health)
        self._log: PartitionLog | None = None
        self._consumer: EvaluationConsumer[DetectionPipeline] | None = None
        self._following: PartitionFollower | None = None
        self._storing: StoreThread | None = None
        self._leaving: threading.Thread | None = None
        self._thread = threading.Thread(target=self._take, name=f"partition {number}", daemon=True)

    def start(self) -> None:
        """Begin to take it over."""
        self._thread.start()

    def read(self, question: Callable[[DetectionPipeline], T]) -> T:
        """Return the answer of a question to its pipeline; only once it is ready."""
        assert self._consumer is not None  # noqa: S101  it is ready
        return self._consumer.read(question)

    def leave(self) -> None:
        """Keep the state for the next owner, in a thread; `given` says when that is done."""
        if self._leaving is None:
            self._leaving = threading.Thread(
                target=self.stop, name=f"leave {self.number}", daemon=True
            )
            self._leaving.start()

    def stop(self, *, keep: bool = True) -> None:
        """Evaluate what is here, keep the state, and end; without `keep` just end."""
        self._stopping.set()
        self.ready = False
        self._thread.join()
        if self._log is not None:
            self._log.close()
        with self._lock:
            if self._following is not None:
                self._following.stop()
            if self._consumer is not None:
                self._consumer.stop(keep=keep)
            if self._storing is not None:
                self._storing.stop()
            self._consumer = self._following = self._storing = None
        self._snapshot.unlink(missing_ok=True)
        self.given = True

    @property
    def settled(self) -> bool:
        """Tell whether it may be handed over: its jobs were not without an owner just now.

        One that does not get ready here for long may, too.
        """
        now = time.monotonic()
        if self._ready_at is None:
            return now - self._began > _RESTORED_SECONDS
        return now - self._ready_at > _STAYS_SECONDS

    @property
    def lag(self) -> float:
        """Return how many seconds evaluation is behind JetStream's clock; 0 while time stands."""
        consumer, following = self._consumer, self._following
        if consumer is None or following is None or following.quiet:
            return 0.0
        if following.ahead_seconds is None:
            return 0.0
        return consumer.lag(following.ahead_seconds)

    @property
    def pending(self) -> int:
        """Return the entries that are in the log and were not fetched yet."""
        following = self._following
        return 0 if following is None else following.pending

    @property
    def series(self) -> int:
        """Return how many series are held."""
        consumer = self._consumer
        return 0 if consumer is None else consumer.table.live

    def _take(self) -> None:
        while not self._stopping.is_set():
            try:
                self._begin()
                return
            except (APIError, *ERRORS) as error:
                _LOG.warning(
                    "a partition cannot be taken over yet",
                    partition=self.number,
                    error=str(error) or type(error).__name__,
                )
            except Exception as error:  # noqa: BLE001  its jobs must not be without anybody
                self._defects.met("takeover", error)
            self._stopping.wait(_AGAIN_SECONDS)

    def _begin(self) -> None:
        parts, number = self._parts, self.number
        log = PartitionLog(parts.connection, number)
        decisions = DecisionStream(parts.connection, number)
        decisions.claim()
        fence = PartitionFence(number, self.epoch, parts.owner)
        try:
            parts.store.claim_partition(fence)
        except FencedError:
            parts.lost(number)
            return
        except StoreError as error:
            # The first change is fenced as well, whenever the database is back.
            _LOG.warning("the epoch of a partition is not stored yet", error=str(error))
        before_ns = log.last_at_ns()
        pipeline = parts.pipeline()
        pipeline.share(number)
        pipeline.send = parts.post
        decode = _PayloadDecode(DecoderPool(pipeline.table.alike))
        following = PartitionFollower(
            parts.connection,
            number,
            clock=parts.clock,
            decode=decode.decode,
            aside=AsideStream(parts.connection, number, parts.cluster).move,
            max_bytes=_TAIL_BYTES,
        )
        storing = StoreThread(
            FencedSink(parts.store, fence, lambda: parts.lost(number)),
            health=parts.health,
            kept=parts.kept,
        )
        consumer = EvaluationConsumer(
            pipeline=pipeline,
            log=ConsumedLog(
                journal=log,
                decisions=decisions,
                received=following,
                tail=following,
                decoders=decode,
                before_ns=before_ns,
            ),
            recovery=RecoveryPlan(
                StoredSnapshots(self._snapshot, parts.connection, number, parts.cluster),
                _rereading(parts, number),
                snapshot_seconds=parts.log.snapshot_seconds,
                recovered=self._recovered,
            ),
            storing=storing,
            clock=parts.clock,
            health=parts.health,
        )
        with self._lock:
            self._following, self._storing, self._consumer = following, storing, consumer
            self._log = log
        storing.start()
        self._restoring = time.monotonic()
        consumer.start()

    def _recovered(self, offset: Offset | None) -> None:
        following = self._following
        if following is None or self._stopping.is_set():
            return
        following.begin(offset)
        self.ready = True
        now = self._ready_at = time.monotonic()
        self._parts.cluster.takeover_seconds.observe(now - self._began)
        _LOG.info(
            "a partition is taken over",
            partition=self.number,
            seconds=round(now - self._began, 2),
            restored_within=round(now - self._restoring, 2),
        )


class _PayloadDecode:
    """Decodes; what fails in whatever way is the payload's fault."""

    def __init__(self, decoders: DecoderPool) -> None:
        self._decode = decoding(decoders)

    def decode(self, payload: Payload) -> DecodedPayload:
        """Return what the payload holds. Raises UndecodableError."""
        return self._decode(payload)


def _rereading(parts: PartitionParts, number: int) -> RereadPlan:
    """Return how a start without a snapshot goes: by the incidents of this partition's jobs."""

    def mine(incident: ClosedIncident) -> bool:
        jobs = incident.jobs
        return bool(jobs) and names.of_job(jobs[0], parts.log.partitions) == number

    return RereadPlan(
        seconds=lambda now: rereading.reread_seconds(parts.store, parts.journal, now),
        past=lambda since: filter(mine, rereading.past(parts.store, since)),
        decided_until=lambda: parts.store.newest_change_at() or float("-inf"),
    )
