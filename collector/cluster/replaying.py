"""The shared log once more: each partition's stream through a pipeline of its own."""

from collections.abc import Callable, Iterator
from typing import Any

from ..journal.entries import JournalEntry
from ..journal.kinds import PayloadKind
from ..recordings.otlp_lines import RecordingError
from ..replay.replay import ReplayRun
from ..settings.log import LogSettings
from .connection import ERRORS, NatsConnection
from .partition_log import DecisionStream, PartitionLog

_ALWAYS_NS = 1 << 62
_OF_PARTITIONS = (PayloadKind.TIME, PayloadKind.SHARED)
"""Kinds of entries that the owners of partitions publish."""


def replayed(
    log: LogSettings,
    replay: Callable[[], ReplayRun],
    *,
    start_ns: int = 0,
    end_ns: int = _ALWAYS_NS,
) -> list[dict[str, Any]]:
    """Return the final document of every incident, ordered by `opened_at`, then id.

    `replay` makes a replay with a pipeline of its own. Raises RecordingError.
    """
    documents: list[dict[str, Any]] = []
    for number, entries, decisions in _partitions(log, start_ns, end_ns):
        one = replay()
        one.pipeline.share(number)
        documents += one.run_entries(entries, decisions)
    return sorted(documents, key=lambda row: (row["opened_at"], row["id"]))


def held(log: LogSettings) -> Iterator[JournalEntry]:
    """Yield the entries of all partitions, one partition after another. Raises RecordingError."""
    for _, entries, _ in _partitions(log, 0, _ALWAYS_NS):
        yield from (entry for entry in entries if entry.kind not in _OF_PARTITIONS)


def _partitions(
    log: LogSettings, start_ns: int, end_ns: int
) -> Iterator[tuple[int, Iterator[JournalEntry], list[JournalEntry]]]:
    connection = NatsConnection(log, name="rankscope replay")
    try:
        connection.start()
        for number in range(log.partitions):
            decisions = [entry for entry, _ in DecisionStream(connection, number).read(None)]
            yield number, PartitionLog(connection, number).range(start_ns, end_ns), decisions
    except ERRORS as error:
        raise RecordingError(f"the log in NATS cannot be read: {error}") from error
    finally:
        connection.stop()
