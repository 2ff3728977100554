"""A start comes back to where the last process was: by its snapshot, or by reading more again."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import structlog

from ...vocabulary.clock import Clock
from ..health.defects import DefectLog
from ..health.health import CollectorHealth
from ..journal.entries import JournalEntry
from ..journal.interface import Offset
from ..process import memory
from .applying import EntryApplier
from .consumed_log import ConsumedLog
from .overload import OverloadSkips
from .recovery import RecoveryPlan
from .snapshots import SnapshotError

_LOG = structlog.get_logger(__name__)
_PROGRESS_SECONDS = 5.0


class EvaluationRestart:
    """The way from the start of a process to what it takes in itself."""

    def __init__(
        self,
        applying: EntryApplier[Any],
        *,
        log: ConsumedLog,
        recovery: RecoveryPlan,
        overload: OverloadSkips,
        clock: Clock,
        health: CollectorHealth,
        defects: DefectLog,
        stopping: Callable[[], bool],
    ) -> None:
        self._applying = applying
        self._journal = log.journal
        self._snapshots = recovery.snapshots
        self._rereading = recovery.rereading
        self._overload = overload
        self._before_ns = log.before_ns
        self._clock = clock
        self._health = health
        self._defects = defects
        self._stopping = stopping

    def recover(self) -> bool:
        """Come back to where the last process was; False where a stop has cut it short."""
        self._overload.recovering = True
        try:
            self._overload.decided_until = self._rereading.decided_until()
        except Exception as error:  # noqa: BLE001  the store is away: what it has is not known
            self._defects.met("restart", error)
        try:
            entries = self._restored()
            return self._reread() if entries is None else self._catch_up(entries)
        except Exception as error:  # noqa: BLE001  better without all of its past than not at all
            if self._stopping():
                return False
            self._defects.met("restart", error)
            return True
        finally:
            self._overload.recovering = False

    def _restored(self) -> Iterator[tuple[JournalEntry, Offset]] | None:
        """Take over the snapshot; return the entries after it, None without a usable one."""
        if self._snapshots is None or self._before_ns is None:
            return None
        began = time.monotonic()
        try:
            found = self._snapshots.load()
            if found.offset is not None and not self._journal.holds(found.offset):
                raise SnapshotError("the journal was trimmed beyond it")
        except SnapshotError as error:
            _LOG.warning("no snapshot to start from: the journal is read again", why=str(error))
            return None
        self._applying.restore(found)
        memory.return_freed()
        _LOG.info(
            "snapshot loaded",
            evaluated=found.moment.evaluated,
            seconds=round(time.monotonic() - began, 2),
        )
        return self._journal.read(found.offset)

    def _reread(self) -> bool:
        """Read the last minutes of the journal again: what is still open is found again."""
        now = self._clock.now()
        seconds = self._rereading.seconds(now)
        newest = now if self._before_ns is None else self._before_ns / 1e9
        self._applying.remember(self._rereading.past(newest - seconds))
        return self._before_ns is None or self._catch_up(self._journal.latest(seconds))

    def _catch_up(self, entries: Iterable[tuple[JournalEntry, Offset]]) -> bool:
        began = shown = time.monotonic()
        count = 0
        for entry, offset in entries:
            if self._before_ns is None or entry.at_ns > self._before_ns:
                break  # what this process took in comes by the tail
            if self._stopping():
                return False
            self._applying.entry(entry)
            self._applying.offset = offset
            count += 1
            if time.monotonic() - shown > _PROGRESS_SECONDS:
                shown = time.monotonic()
                behind = (self._before_ns - entry.at_ns) / 1e9
                _LOG.info("reading the journal", entries=count, seconds_left=round(behind))
        self._health.replayed.inc(count)
        _LOG.info(
            "evaluation follows the intake",
            journal_entries_read=count,
            seconds=round(time.monotonic() - began, 2),
        )
        return True
