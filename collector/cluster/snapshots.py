"""Snapshots in the object store, so that whichever collector owns a partition next finds them.

A child writes a file as it does for one collector (`evaluation.snapshots`); the file is then put
into the object store. A collector that was replaced while it slept may put an older state over a
newer one: the next owner then reads more of the stream, and comes to the same.
"""

import time
from concurrent.futures import Future
from pathlib import Path

import structlog
from nats.js.errors import APIError, NotFoundError
from nats.js.object_store import OBJ_CHUNKS_PRE_TEMPLATE, OBJ_STREAM_TEMPLATE

from ..evaluation.snapshots import PipelineSnapshot, SnapshotError, SnapshotFile
from . import names
from .connection import ERRORS, NatsConnection
from .health import ClusterHealth
from .reading import StreamReader

_LOG = structlog.get_logger(__name__)
_PUT_SECONDS = 120.0
_GET_SECONDS = 60.0
_SILENT_SECONDS = 3.0
_FETCH_SECONDS = 0.5


class StoredSnapshots(SnapshotFile):
    """The snapshots of one partition: a file, and a copy of it in the object store."""

    def __init__(
        self, path: Path, connection: NatsConnection, partition: int, health: ClusterHealth
    ) -> None:
        super().__init__(path)
        self._file = path
        self._connection = connection
        self._name = f"partition-{partition}"
        self._size = health.snapshot_bytes.labels(str(partition))
        self._kept_at = 0
        self._putting: Future[None] | None = None

    @property
    def writing(self) -> bool:
        """Tell whether one is being written or put into the object store."""
        if super().writing:
            return True
        if self._putting is not None:
            if not self._putting.done():
                return True
            failed = self._putting.exception()
            self._putting = None
            if failed is not None:
                _LOG.warning("a snapshot was not kept", partition=self._name, error=str(failed))
        try:
            made_at = self._file.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        if made_at == self._kept_at:
            return False
        self._kept_at = made_at
        self._putting = self._connection.spawn(self._put())
        return True

    def load(self) -> PipelineSnapshot:
        """Return the snapshot in the object store. Raises SnapshotError."""
        try:
            self._connection.call(self._get(), _GET_SECONDS)
        except (APIError, *ERRORS) as error:
            raise SnapshotError(f"it cannot be got from NATS: {error!r}") from error
        self._kept_at = self._file.stat().st_mtime_ns
        return super().load()

    def write(self, snapshot: PipelineSnapshot) -> None:
        """Write one in this thread, and return once the object store has it. Raises OSError."""
        super().write(snapshot)
        self._kept_at = self._file.stat().st_mtime_ns
        try:
            self._connection.call(self._put(), _PUT_SECONDS)
        except (APIError, *ERRORS) as error:
            raise OSError(0, f"the snapshot was not kept: {error!r}") from error

    async def _put(self) -> None:
        objects = await self._connection.js.object_store(names.SNAPSHOTS)
        with self._file.open("rb") as file:
            info = await objects.put(self._name, file)
        self._size.set(info.size or 0)

    async def _get(self) -> None:
        """Get the file, again where the object is replaced meanwhile."""
        objects = await self._connection.js.object_store(names.SNAPSHOTS)
        end = time.monotonic() + _GET_SECONDS / 2
        while True:
            try:
                info = await objects.get_info(self._name)
            except NotFoundError:
                raise SnapshotError("there is none yet") from None
            chunks = OBJ_CHUNKS_PRE_TEMPLATE.format(bucket=names.SNAPSHOTS, obj=info.nuid)
            if await self._chunks(chunks, info.size or 0):
                return
            if time.monotonic() > end:
                raise SnapshotError("the object store does not give it whole")

    async def _chunks(self, subject: str, size: int) -> bool:
        """Write the file from its chunks; False where some are gone. Its own checksum is in it."""
        stream = OBJ_STREAM_TEMPLATE.format(bucket=names.SNAPSHOTS)
        reader = StreamReader(self._connection, stream, subject=subject)
        parts: list[bytes] = []
        left = size
        silent = time.monotonic()
        try:
            while left > 0 and time.monotonic() - silent < _SILENT_SECONDS:
                for message in await reader.fetch(_FETCH_SECONDS):
                    parts.append(message.body)
                    left -= len(message.body)
                    silent = time.monotonic()
        finally:
            await reader.close()
        if left:
            return False
        with self._file.open("wb") as file:
            file.writelines(parts)
        return True
