"""The streams and buckets in JetStream: made at the first start, checked at every one."""

import time

from nats.js.api import (
    DiscardPolicy,
    KeyValueConfig,
    ObjectStoreConfig,
    StorageType,
    StoreCompression,
    StreamConfig,
)
from nats.js.errors import APIError, BadRequestError, NotFoundError

from ..settings.journal import JournalSettings
from ..settings.log import LogSettings
from . import names
from .connection import ERRORS, LogUnavailableError, NatsConnection

_DAY_SECONDS = 86_400.0
_DUPLICATE_SECONDS = 120.0
"""A payload that is sent again within this time is kept once."""
_MADE_SECONDS = 120.0
_LEADER_SECONDS, _AGAIN_SECONDS = 15.0, 0.5
"""For so long it is tried: servers that have just started have no leader yet."""
STREAM_EXISTS = 10058
"""JetStream's error code for a stream (a bucket is one too) that is there with other settings."""
_DECISION_BYTES, _ASIDE_BYTES = 64 << 20, 256 << 20


def prepare(connection: NatsConnection, log: LogSettings, journal: JournalSettings) -> None:
    """Make what is missing. Raises LogUnavailableError where that is not possible."""
    end = time.monotonic() + _LEADER_SECONDS
    while True:
        try:
            connection.call(_prepare(connection, log, journal), _MADE_SECONDS)
            return
        except LogUnavailableError:
            raise
        except ERRORS as error:
            if time.monotonic() > end:
                raise _refused(error) from None
            time.sleep(_AGAIN_SECONDS)


def _refused(error: Exception) -> LogUnavailableError:
    if isinstance(error, APIError):
        hint = ""
        if error.err_code in (10005, 10074):
            hint = "; set log.replicas to 1 where there is one NATS server"
        return LogUnavailableError(
            f"JetStream refuses the streams of log.url: {error.description}{hint}"
        )
    return LogUnavailableError(
        f"JetStream of log.url does not answer ({error}): is it enabled on the servers?"
    )


async def _prepare(connection: NatsConnection, log: LogSettings, journal: JournalSettings) -> None:
    js = connection.js
    age = journal.keep_days * _DAY_SECONDS
    held = await _held(connection)
    for partition in range(log.partitions):
        await _stream(
            connection,
            StreamConfig(
                name=names.stream(partition),
                subjects=[names.subject(partition)],
                description=f"rankscope payloads, partition {partition} of {log.partitions}",
                max_age=age,
                max_bytes=max(1 << 20, journal.keep_bytes // log.partitions),
                num_replicas=log.replicas,
                storage=StorageType.FILE,
                compression=StoreCompression.S2,
                duplicate_window=_DUPLICATE_SECONDS,
                discard=DiscardPolicy.OLD,
                metadata={"partitions": str(log.partitions)},
            ),
            held,
        )
    if names.stream(log.partitions) in held:
        raise LogUnavailableError(
            f"log.partitions is {log.partitions}, and the streams in NATS are more: set what they "
            "were made with"
        )
    for name, subjects, size in (
        (names.DECISIONS, "rankscope.decisions.*", _DECISION_BYTES),
        (names.ASIDE, "rankscope.aside.*", _ASIDE_BYTES),
    ):
        await _stream(
            connection,
            StreamConfig(
                name=name,
                subjects=[subjects],
                max_age=age,
                max_bytes=size,
                num_replicas=log.replicas,
                storage=StorageType.FILE,
                duplicate_window=_DUPLICATE_SECONDS,
            ),
            held,
        )
    for bucket in (names.LEASES, names.HOSTS):
        if f"KV_{bucket}" not in held:
            await js.create_key_value(
                KeyValueConfig(bucket=bucket, replicas=log.replicas, storage=StorageType.FILE)
            )
    if f"OBJ_{names.SNAPSHOTS}" not in held:
        await js.create_object_store(
            names.SNAPSHOTS,
            ObjectStoreConfig(replicas=log.replicas, storage=StorageType.FILE),
        )


async def _held(connection: NatsConnection) -> set[str]:
    found: set[str] = set()
    while True:
        page = await connection.api("STREAM.NAMES", {"offset": len(found)})
        streams = page.get("streams") or []
        found.update(streams)
        if not streams or len(found) >= page["total"]:
            return found


async def _stream(connection: NatsConnection, config: StreamConfig, held: set[str]) -> None:
    if config.name not in held:
        try:
            await connection.js.add_stream(config)
        except BadRequestError as error:
            if error.err_code != STREAM_EXISTS:  # another collector has just made it
                raise
        return
    if not (config.metadata or {}).get("partitions"):
        return
    found = await connection.api(f"STREAM.INFO.{config.name}")
    made = (found["config"].get("metadata") or {}).get("partitions")
    if made != config.metadata["partitions"]:  # type: ignore[index]
        raise LogUnavailableError(
            f"the streams in NATS were made with {made} partitions: set log.partitions to that"
        )


async def state(connection: NatsConnection, stream: str) -> dict[str, int]:
    """Return first_seq, last_seq, messages and bytes of a stream, as its leader has them."""
    try:
        found: dict[str, int] = (await connection.api(f"STREAM.INFO.{stream}"))["state"]
    except NotFoundError:
        raise LogUnavailableError(f"the stream {stream} is gone from NATS") from None
    return found
