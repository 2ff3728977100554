"""The flow of a collector that shares the log: takes payloads of all, evaluates its partitions.

`submit`, `act` and `read` are those of `flows.stages`; `read` asks the partition of the request
(`asked`), or every partition that is owned here and joins their lists.
"""

import functools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from starlette.types import ASGIApp

from ...formats.otlp.columns import SeriesTable
from ...vocabulary.clock import Clock
from ..health.bound_log import BoundLog
from ..health.health import CollectorHealth
from ..intake.appending import IntakeThread
from ..intake.decoding import DecoderPool
from ..intake.gathering import GroupGathering
from ..intake.payloads import Payload, PayloadOutcome
from ..intake.sender_names import SenderNames
from ..intake.tail import DurableEntry
from ..intake.waiting import REPAIR_SECONDS, UnavailableError
from ..journal.actions import PendingAction, RecordedAction
from ..journal.kinds import PayloadKind
from ..pipeline import bounds
from ..pipeline.pipeline import UNKEPT, DetectionPipeline
from ..settings.collector import CollectorSettings
from ..store.store import IncidentDatabaseStore
from . import names, news, streams
from .connection import ERRORS, LogUnavailableError, NatsConnection
from .excerpts import HeldInLog
from .gateway import OwnerGateway
from .health import ClusterHealth
from .hosts import HostPartitions
from .membership import ClusterMembership
from .owned import OwnedPartition, PartitionParts
from .owners import MovingError, PartitionLocation, asked
from .ownership import PartitionOwnership
from .profiles import SharedShelf
from .publishing import PartitionPublisher, PublishedLog
from .routing import PayloadRouter
from .summaries import ClusterSummaries, OwnSummaries

T = TypeVar("T")

_AWAY_SECONDS = 5
_GATHERED_SECONDS, _MANY_A_SECOND = 0.03, 100
"""A group takes three servers and more threads than a sync does: it is worth a longer pause, and
fewer payloads a second."""


class _NoTail:
    """The intake's tail: who owns the partition reads the log."""

    def add(self, entries: Sequence[DurableEntry]) -> None:
        """Take nothing."""
        del entries


class ClusterStages:
    """The stages of one collector among several. All methods may be called from any thread."""

    def __init__(
        self,
        settings: CollectorSettings,
        *,
        store: IncidentDatabaseStore,
        clock: Clock,
        health: CollectorHealth,
        name: str,
        address: Callable[[], str],
        pipeline: Callable[[], DetectionPipeline],
    ) -> None:
        """`address` is where the others reach this collector. Raises LogUnavailableError."""
        log = settings.log
        self.partitions = log.partitions
        self._store = store
        self.health = ClusterHealth(health.registry)
        self._pending = PendingAction()
        self.owned = PartitionOwnership(self._begin, health=self.health)
        self._name = name
        self._connection = NatsConnection(log, name=f"rankscope {name}")
        self._connection.start()
        try:
            streams.prepare(self._connection, log, settings.journal)
        except BaseException:
            self._connection.stop()
            raise
        folder = settings.data_dir / "partitions"
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob("*.snapshot*"):
            left.unlink()  # what counts is in the object store
        self._publisher = PartitionPublisher(self._connection)
        self._bounds = BoundLog(health=health, clock=clock)
        self._parts = PartitionParts(
            connection=self._connection,
            log=log,
            journal=settings.journal,
            store=store,
            clock=clock,
            health=health,
            cluster=self.health,
            folder=Path(folder),
            owner=name,
            pipeline=functools.partial(_bounded, pipeline, self._bounds),
            post=self._publisher.post,
            lost=self.owned.lose,
            kept=self._kept,
        )
        self._hosts = HostPartitions(self._connection)
        self.history = HeldInLog(self._connection, log.partitions, folder)
        self.profiles = SharedShelf(
            folder / "profiles",
            settings.profiles,
            connection=self._connection,
            replicas=log.replicas,
            clock=clock,
            owns_job=self.owns_job,
        )
        capacity = settings.evaluation.max_series
        texts = bounds.of_texts(settings.evaluation)
        self.intake = IntakeThread(
            journal=PublishedLog(self._publisher, PayloadRouter(log.partitions, self._hosts)),
            decoders=DecoderPool(lambda: SeriesTable(capacity, unkept=UNKEPT, bounds=texts)),
            names=SenderNames.of(settings.intake),
            bounded=self._bounds.passed,
            tail=_NoTail(),
            clock=clock,
            health=health,
            queue_bytes=settings.intake.queue_bytes,
            gathering=GroupGathering(pause_seconds=_GATHERED_SECONDS, many_a_second=_MANY_A_SECOND),
        )
        self.membership = ClusterMembership(
            self._connection,
            self.owned,
            name=name,
            address=address,
            partitions=log.partitions,
            lease_seconds=log.lease_seconds,
            health=health,
        )
        self.summaries = ClusterSummaries(self._connection, self.owned.ready, name=name)
        self._news = news.ClusterNews(self._connection, store, self._pending, name=name)
        owned = self.owned
        health.lag_seconds.set_function(
            lambda: max((one.lag for one in owned.partitions()), default=0.0)
        )
        health.series.set_function(lambda: sum(one.series for one in owned.partitions()))
        health.series_limit.set(capacity)
        self.health.up.set_function(lambda: float(self._connection.up))
        self.health.partitions.set_function(lambda: len(owned))
        self.health.recovering.set_function(
            lambda: sum(not one.ready for one in owned.partitions())
        )
        self.health.lag.set_function(lambda: sum(one.pending for one in owned.partitions()))

    @property
    def ready(self) -> bool:
        """Tell whether payloads are taken."""
        return self.intake.ready and self._connection.up

    @property
    def own_summaries(self) -> OwnSummaries:
        """Return the summaries of the jobs of the partitions that are owned here."""
        return OwnSummaries(self.summaries)

    def polls(self) -> bool:
        """Tell whether the partition of what has no job is owned here: its owner polls."""
        return self.owns_job(None)

    def gateway(self) -> Callable[[ASGIApp], ASGIApp]:
        """Return what passes requests on to the collectors that have the answers."""
        return functools.partial(OwnerGateway, owners=self)

    def warnings(self) -> list[str]:
        """Return what an operator has to know."""
        found = self._bounds.warnings()
        if not self._connection.up:
            found.insert(0, "NATS is away: telemetry is refused with 503, and senders keep it")
        return found

    def start(self) -> None:
        """Take payloads, and take part in sharing out the partitions."""
        self._hosts.start()
        self.intake.start()
        self._news.start()
        self.summaries.start()
        self.profiles.start()
        self.membership.start()

    def stop(self, *, until: float = math.inf) -> None:
        """Take nothing more; keep the state of every partition; give all to the others."""
        del until  # they would wait for the state as long
        self.intake.stop()
        self.membership.stop()
        self.summaries.stop()
        self.profiles.stop()
        self.owned.stop()
        self.membership.leave()
        self._hosts.stop()
        self._connection.stop()

    def trim(self, now: float) -> int:
        """Return the bytes that the streams of one's own partitions hold; they trim themselves."""
        del now
        try:
            return sum(
                self._connection.call(
                    streams.state(self._connection, names.stream(one.number)), _AWAY_SECONDS
                )["bytes"]
                for one in self.owned.partitions()
            )
        except ERRORS:
            return 0  # what they hold is not known while NATS is away

    def submit(self, payload: Payload) -> "Future[PayloadOutcome]":
        """Queue a payload; the future resolves once a quorum of NATS has it."""
        if not self._connection.up:
            raise UnavailableError("NATS is away", retry_after_seconds=REPAIR_SECONDS)
        return self.intake.submit(payload)

    def act(self, action: RecordedAction, *, timeout_seconds: float) -> bool:
        """Enter what a person did in the log of its incident's job, and wait for the store."""
        stored = self._pending.expect(action.id)
        try:
            self._publisher.publish(self._partition_of(action), PayloadKind.ACTION, action.pack())
            stored.result(timeout_seconds)
        except LogUnavailableError as error:
            raise UnavailableError(str(error), retry_after_seconds=REPAIR_SECONDS) from error
        except TimeoutError:
            return False
        finally:
            self._pending.forget(action.id)
        return True

    def read(self, question: Callable[[Any], T]) -> T:
        """Return the answer of the pipeline that a request is about.

        Without one all that are ready here are asked, and lists, sets and mappings joined.
        Raises MovingError while the partition is on its way.
        """
        number = asked.get()
        if number is not None:
            one = self.owned.get(number)
            if one is None or not one.ready:
                raise MovingError("the job's partition is moving to another collector")
            return one.read(question)
        answers = [one.read(question) for one in self.owned.ready()]
        return _joined(answers) if answers else question(self._parts.pipeline())

    # Whose partition

    def find(self, partition: int) -> PartitionLocation:
        """Return who owns a partition."""
        one = self.owned.get(partition)
        if one is not None:
            return PartitionLocation(True, one.ready, "")
        found = self.membership.assignment
        if partition >= len(found.leases):
            return PartitionLocation(False, False, "")
        return PartitionLocation(False, True, found.address(partition))

    def others(self) -> list[str]:
        """Return the addresses of the other collectors."""
        members = self.membership.assignment.members
        return [row.address for name, row in sorted(members.items()) if name != self._name]

    def partitions_of_host(self, host: str) -> frozenset[int]:
        """Return the partitions that have the telemetry of a host: one for each of its jobs."""
        found = self._hosts.partitions(host)
        return found or frozenset((names.of_host(host, self.partitions),))

    def owns_job(self, job: str | None) -> bool:
        """Tell whether a job (None: what has none) is evaluated here."""
        return (names.of_job(job, self.partitions) if job else 0) in self.owned

    def _kept(self, action: str) -> None:
        self._pending.kept(action)
        self._connection.announce(names.KEPT, {"action": action, "by": self._name})

    def _begin(self, number: int, epoch: int) -> OwnedPartition:
        return OwnedPartition(number, epoch, self._parts)

    def _partition_of(self, action: RecordedAction) -> int:
        incident = action.action.incident
        document = None if incident is None else self._store.incident(incident)
        job = None if document is None else document["job"]
        return 0 if job is None else names.of_job(job, self.partitions)


def _bounded(made: Callable[[], DetectionPipeline], log: BoundLog) -> DetectionPipeline:
    """Return a new pipeline that tells the log what it leaves out."""
    line = made()
    line.bounded = log.passed
    return line


def _joined(answers: list[Any]) -> Any:
    first = answers[0]
    if isinstance(first, list):
        return [row for rows in answers for row in rows]
    if isinstance(first, set):
        return set[Any]().union(*answers)
    if isinstance(first, dict):
        return {key: row for rows in answers for key, row in rows.items()}
    return next((one for one in answers if one is not None), first)
