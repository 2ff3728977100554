"""The partitions of the jobs that run on each host: seen in telemetry, shared through a bucket.

Whoever takes telemetry of a job notes its host; every collector follows the bucket. A host is
forgotten when no job has reported there for long: its telemetry then has its own partition again.
"""

import asyncio
import hashlib
import json
import threading
import time
from concurrent.futures import Future

import structlog

from . import names
from .connection import ERRORS, NatsConnection
from .messages import StreamMessage
from .reading import StreamReader

_LOG = structlog.get_logger(__name__)
REFRESH_SECONDS = 300.0
FORGET_SECONDS = 900.0
_WAIT_SECONDS = 1.0
_SECOND_NS = 1_000_000_000


class HostPartitions:
    """Where the jobs of each host are. Safe to ask from any thread."""

    def __init__(self, connection: NatsConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._seen: dict[str, dict[int, float]] = {}
        """By host and partition: when last seen, by this process's monotonic clock."""
        self._noted: dict[tuple[str, int], float] = {}
        """When it was last put into the bucket, by whomever."""
        self._newest_ns = 0
        self._loaded = threading.Event()
        self._following: Future[None] | None = None

    def start(self, *, wait_seconds: float = 5.0) -> None:
        """Follow the bucket; return once what it holds is known."""
        self._following = self._connection.spawn(self._follow())
        self._loaded.wait(wait_seconds)

    def stop(self) -> None:
        """Follow no more."""
        if self._following is not None:
            self._following.cancel()

    def partitions(self, host: str) -> frozenset[int]:
        """Return the partitions of the jobs that run on a host; empty where none is known."""
        found = self._seen.get(host)
        if not found:
            return frozenset()
        oldest = time.monotonic() - FORGET_SECONDS
        with self._lock:
            return frozenset(number for number, at in found.items() if at >= oldest)

    def learn(self, host: str, partition: int) -> None:
        """Note that a job of a partition runs on a host."""
        now = time.monotonic()
        self._note(host, partition, now)
        if now - self._noted.get((host, partition), -REFRESH_SECONDS) < REFRESH_SECONDS:
            return
        self._noted[host, partition] = now
        if self._connection.up:
            self._connection.spawn(self._put(host, partition))

    def _note(self, host: str, partition: int, at: float) -> None:
        with self._lock:
            found = self._seen.setdefault(host, {})
            found[partition] = max(at, found.get(partition, at))

    async def _put(self, host: str, partition: int) -> None:
        digest = hashlib.blake2b(host.encode(), digest_size=16).hexdigest()
        body = json.dumps({"host": host, "partition": partition}).encode()
        try:
            await self._connection.js.publish(f"$KV.{names.HOSTS}.{digest}.{partition}", body)
        except ERRORS:
            self._noted.pop((host, partition), None)  # with the next payload again

    async def _follow(self) -> None:
        reader = StreamReader(
            self._connection, f"KV_{names.HOSTS}", subject=f"$KV.{names.HOSTS}.>", newest_only=True
        )
        while True:
            try:
                found = await reader.fetch(_WAIT_SECONDS)
            except ERRORS as error:
                _LOG.debug("the bucket of hosts cannot be read", error=str(error))
                await asyncio.sleep(_WAIT_SECONDS)
                continue
            for message in found:
                self._take(message)
            if not found or not found[-1].pending:
                self._loaded.set()

    def _take(self, message: StreamMessage) -> None:
        try:
            row = json.loads(message.body)
            host, partition = str(row["host"]), int(row["partition"])
        except (ValueError, KeyError, TypeError):
            return
        self._newest_ns = max(self._newest_ns, message.taken_ns)
        now = time.monotonic()
        at = now - (self._newest_ns - message.taken_ns) / _SECOND_NS
        self._note(host, partition, at)
        self._noted[host, partition] = max(at, self._noted.get((host, partition), at))
