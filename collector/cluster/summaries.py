"""The jobs of all partitions, summed up: each owner sends its own about every five seconds.

So the list of jobs, goodput and the reports of every collector show all of them; what a job's
windows hold is asked of its owner (`gateway`).
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

import cramjam
import structlog
from nats.aio.msg import Msg

from ...vocabulary.ids import Job
from ..accounting.watched import JobSummaries
from ..pipeline.pipeline import DetectionPipeline
from ..windows.queries import JobSummary
from .connection import ERRORS, NatsConnection

T = TypeVar("T")

_LOG = structlog.get_logger(__name__)
_SUBJECT = "rankscope.summaries"
_EVERY_SECONDS = 5.0
_VALID_SECONDS = 60.0
_CALL_SECONDS = 5.0


class SummarizedPartition(Protocol):
    """A partition that is owned here."""

    number: int

    def read(self, question: Callable[[DetectionPipeline], T]) -> T:
        """Return the answer of a question to its pipeline."""
        ...


class ClusterSummaries(JobSummaries):
    """Summaries of jobs: one's own as they are, those of others as last sent."""

    def __init__(
        self,
        connection: NatsConnection,
        owned: Callable[[], Sequence[SummarizedPartition]],
        *,
        name: str,
    ) -> None:
        self._connection = connection
        self._owned = owned
        self._name = name
        self._watched: dict[int, tuple[SummarizedPartition, JobSummaries]] = {}
        self._elsewhere: dict[int, tuple[float, list[JobSummary]]] = {}
        self._stopping = threading.Event()
        self._mutex = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="summaries", daemon=True)

    def start(self) -> None:
        """Begin to send and to listen."""
        self._connection.call(self._listen(), _CALL_SECONDS)
        self._thread.start()

    def stop(self) -> None:
        """Send no more."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    def own(self) -> list[JobSummary]:
        """Return the jobs of the partitions that are owned here, by id."""
        return sorted(
            (row for one in self._owned() for row in self._of(one)), key=lambda row: row.job
        )

    def jobs(self) -> list[JobSummary]:
        """Return the jobs of all partitions, by id."""
        own = {one.number for one in self._owned()}
        oldest = time.monotonic() - _VALID_SECONDS
        with self._mutex:
            others = [
                row
                for number, (at, rows) in self._elsewhere.items()
                if number not in own and at >= oldest
                for row in rows
            ]
        found = {row.job: row for row in (*others, *self.own())}
        return [found[job] for job in sorted(found)]

    def _of(self, one: SummarizedPartition) -> list[JobSummary]:
        with self._mutex:
            held = self._watched.get(one.number)
            if held is None or held[0] is not one:
                held = self._watched[one.number] = (one, JobSummaries(one))
        return held[1].jobs()

    def _run(self) -> None:
        while not self._stopping.wait(_EVERY_SECONDS):
            for one in self._owned():
                if self._stopping.is_set():
                    return
                try:
                    self._send(one)
                except ERRORS as error:
                    _LOG.debug("summaries are not sent", error=str(error))
                except AssertionError:
                    continue  # it has just left

    def _send(self, one: SummarizedPartition) -> None:
        rows = self._of(one)
        document = {
            "by": self._name,
            "partition": one.number,
            "jobs": [asdict(row) for row in rows],
        }
        body = bytes(cramjam.zstd.compress(json.dumps(document).encode(), level=1))
        if len(body) < self._connection.most_bytes and self._connection.up:
            self._connection.call(self._connection.client.publish(_SUBJECT, body), _CALL_SECONDS)

    async def _listen(self) -> None:
        await self._connection.client.subscribe(_SUBJECT, cb=self._take)

    async def _take(self, message: Msg) -> None:
        found: dict[str, Any] = json.loads(bytes(cramjam.zstd.decompress(message.data)))
        if found["by"] == self._name:
            return
        rows: list[JobSummary] = []
        for row in found["jobs"]:
            given: dict[str, Any] = {**row, "job": Job(row["job"]), "hosts": tuple(row["hosts"])}
            rows.append(JobSummary(**given))
        with self._mutex:
            self._elsewhere[int(found["partition"])] = (time.monotonic(), rows)


class OwnSummaries:
    """The jobs that this collector evaluates itself: what it keeps the time of."""

    def __init__(self, summaries: ClusterSummaries) -> None:
        self._summaries = summaries

    def jobs(self) -> list[JobSummary]:
        """Return every job of one's own partitions."""
        return self._summaries.own()
