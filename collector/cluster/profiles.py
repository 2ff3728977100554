"""The profiles of all collectors: any of them is asked for one, sent a trace, or asked what came.

What is asked and what came of it is in a key-value bucket, which every collector follows; traces
are in an object store, and here as copies. Two collectors may take a rank's trace each at the same
time: what either knows is joined, rank by rank. The owner of the job enters the result in the
incident.
"""

import asyncio
import contextlib
import json
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import cramjam
import structlog
from nats.aio.msg import Msg
from nats.js.api import KeyValueConfig, ObjectStoreConfig, StorageType
from nats.js.errors import APIError, NotFoundError

from ...vocabulary.clock import Clock
from ...vocabulary.profiling import ProfileRequest
from ..intake.waiting import UnavailableError
from ..profiles.profile import JobProfile
from ..profiles.shelf import ProfileShelf, UnknownProfileError
from ..settings.profiles import ProfilesSettings
from . import names
from .connection import ERRORS, NatsConnection
from .messages import StreamMessage
from .reading import StreamReader
from .streams import STREAM_EXISTS

_LOG = structlog.get_logger(__name__)
_CALL_SECONDS = 10.0
_TRACE_SECONDS = 120.0
_ASKING_SECONDS = 5.0
_FETCH_SECONDS = 1.0
_DAY_SECONDS = 86_400.0
_GONE = "gone"
_NEWS_SECONDS = 3600.0
"""What ended longer ago was entered in its incident by whoever was there."""


class SharedShelf(ProfileShelf):
    """Profiles in NATS. Safe to ask from any thread."""

    def __init__(
        self,
        folder: Path,
        settings: ProfilesSettings,
        *,
        connection: NatsConnection,
        replicas: int,
        clock: Clock,
        owns_job: Callable[[str | None], bool],
    ) -> None:
        """`folder` is for copies of traces, and emptied."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        super().__init__(folder, settings)
        self._place = folder
        self._limits = settings
        self._connection = connection
        self._replicas = replicas
        self._clock = clock
        self._owns_job = owns_job
        self._over: set[str] = set()
        self._asking: set[str] = set()
        self._tasks: list[Future[None]] = []

    def start(self) -> None:
        """Make the buckets where they are missing, and follow what is in them."""
        self._connection.call(self._prepare(), _CALL_SECONDS)
        self._tasks = [
            self._connection.spawn(self._follow()),
            self._connection.spawn(self._announce()),
        ]

    def stop(self) -> None:
        """Follow no more."""
        for task in self._tasks:
            task.cancel()

    def wanted(self, host: str, now: float) -> list[tuple[str, ProfileRequest]]:
        """Return what is asked of a host's agent; every collector learns that it asks."""
        self._asking.add(host)
        return super().wanted(host, now)

    def trace(self, identity: str, rank: int, now: float) -> Path:
        """Return the file of a trace, a copy of it where another collector took it."""
        row = self.find(identity, now).of(rank)
        path = self._file(identity, rank)
        if row is not None and row.status == "complete" and not path.is_file():
            try:
                self._connection.call(self._get(identity, rank, path), _TRACE_SECONDS)
            except NotFoundError:
                raise UnknownProfileError(f"the trace of rank {rank} is gone") from None
            except (APIError, *ERRORS) as error:
                raise _away(error) from error
        return super().trace(identity, rank, now)

    def _end(self, profile: JobProfile) -> None:
        if profile.id not in self._over and self._owns_job(profile.job):
            self._over.add(profile.id)
            super()._end(profile)

    def _keep(self, profile: JobProfile) -> None:
        self._put(profile.id, profile.document())

    def _keep_trace(self, identity: str, rank: int, file: Path) -> None:
        try:
            self._connection.call(self._put_trace(identity, rank, file), _TRACE_SECONDS)
        except (APIError, *ERRORS) as error:
            raise _away(error) from error

    def _let_go(self, profile: JobProfile) -> None:
        self._over.discard(profile.id)
        if self._owns_job(profile.job):
            self._connection.spawn(self._delete(profile))
            self._put(profile.id, {_GONE: profile.id})

    def _put(self, identity: str, document: Mapping[str, Any]) -> None:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
        body = bytes(cramjam.zstd.compress(text.encode(), level=3))
        subject = f"$KV.{names.PROFILES}.{identity}"
        try:
            self._connection.call(self._connection.js.publish(subject, body), _CALL_SECONDS)
        except (APIError, *ERRORS) as error:
            raise _away(error) from error

    def _file(self, identity: str, rank: int) -> Path:
        return self._place / identity / f"rank-{rank}.trace.json.gz"

    # On the connection's loop

    async def _prepare(self) -> None:
        js, days = self._connection.js, self._limits.keep_days
        storage = StorageType.FILE
        for make in (
            js.create_key_value(
                KeyValueConfig(
                    bucket=names.PROFILES,
                    ttl=days * _DAY_SECONDS,
                    replicas=self._replicas,
                    storage=storage,
                )
            ),
            js.create_object_store(
                names.TRACES,
                ObjectStoreConfig(
                    ttl=days * _DAY_SECONDS,
                    replicas=self._replicas,
                    storage=storage,
                ),
            ),
        ):
            try:
                await make
            except APIError as error:
                if error.err_code != STREAM_EXISTS:
                    raise

    async def _follow(self) -> None:
        reader = StreamReader(
            self._connection,
            f"KV_{names.PROFILES}",
            subject=f"$KV.{names.PROFILES}.>",
            newest_only=True,
        )
        while True:
            try:
                found = await reader.fetch(_FETCH_SECONDS)
            except (APIError, *ERRORS) as error:
                _LOG.debug("the bucket of profiles cannot be read", error=str(error))
                await asyncio.sleep(_FETCH_SECONDS)
                continue
            for message in found:
                await asyncio.to_thread(self._take, message)

    def _take(self, message: StreamMessage) -> None:
        try:
            row = json.loads(bytes(cramjam.zstd.decompress(message.body)))
            if row.get(_GONE):
                with self._lock:
                    self._profiles.pop(str(row[_GONE]), None)
                return
            profile = JobProfile.parse(row)
        except (cramjam.DecompressionError, ValueError, KeyError, TypeError) as error:
            _LOG.error("a profile cannot be read", sequence=message.sequence, error=str(error))
            return
        with self._lock:
            held = self._profiles.setdefault(profile.id, profile)
            lacks = _join(held, profile)
        if lacks:  # what was written last lacks what is known here
            with contextlib.suppress(UnavailableError):
                self._keep(held)
        now = self._clock.now()
        if held.status != "waiting" and now - held.created_at < _NEWS_SECONDS:
            self._end(held)

    async def _announce(self) -> None:
        async def received(message: Msg) -> None:
            now = self._clock.now()
            for host in json.loads(message.data)["hosts"]:
                self._asked[str(host)] = now

        client = self._connection.client
        await client.subscribe(names.ASKING, cb=received)
        while True:
            await asyncio.sleep(_ASKING_SECONDS)
            hosts, self._asking = sorted(self._asking), set()
            if hosts:
                self._connection.announce(names.ASKING, {"hosts": hosts})

    async def _put_trace(self, identity: str, rank: int, file: Path) -> None:
        objects = await self._connection.js.object_store(names.TRACES)
        with file.open("rb") as source:
            await objects.put(f"{identity}-{rank}", source)

    async def _get(self, identity: str, rank: int, path: Path) -> None:
        objects = await self._connection.js.object_store(names.TRACES)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            await objects.get(f"{identity}-{rank}", writeinto=file)
        part.replace(path)

    async def _delete(self, profile: JobProfile) -> None:
        objects = await self._connection.js.object_store(names.TRACES)
        for row in profile.ranks:
            try:
                await objects.delete(f"{profile.id}-{row.rank}")
            except (APIError, NotFoundError, *ERRORS):
                continue  # it was never there, or ends with its age


def _join(held: JobProfile, other: JobProfile) -> bool:
    """Take from another copy of a profile what came of each rank; return whether it lacks any."""
    lacks = False
    for place, row in enumerate(held.ranks):
        theirs = other.of(row.rank)
        if theirs is None or theirs.status == row.status:
            continue
        if row.status == "waiting" or (row.status == "failed" and theirs.status == "complete"):
            held.ranks[place] = theirs
        else:
            lacks = True
    return lacks


def _away(error: Exception) -> UnavailableError:
    return UnavailableError(
        f"profiles are kept in NATS, which does not answer ({error!r})", retry_after_seconds=5
    )
