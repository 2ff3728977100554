"""The spool: batches on disk until the collector has them; bounded, in order, over restarts.

Made of segment files. What is acknowledged is remembered in a small file beside them, segments
that are done with are deleted, and when the bound is reached the oldest segment goes, counted.
Memory holds a few batches, however long the collector is away.
"""

import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..formats import segments
from . import state
from .health import AgentHealth

_SHARES = 16
"""Segments that the bound is made of: one is what is lost at a time when the spool is full."""
_LARGEST_SEGMENT = 4 << 20
_AHEAD = 16
"""Batches read ahead, so that a backlog is not read again from its start for each of them."""
_SENT = "sent"
_SENT_BYTES = 64

_log = logging.getLogger(__name__)


class SpoolError(Exception):
    """The spool's folder cannot be used; the text says why and what to do."""


@dataclass(slots=True)
class _SpoolSegment:
    path: Path
    waiting: int
    size: int


class DiskSpool:
    """Appended to by one thread, emptied by another."""

    def __init__(self, folder: Path, *, max_bytes: int, health: AgentHealth) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = min(_LARGEST_SEGMENT, max_bytes // _SHARES)
        self._health = health
        self._lock = threading.Lock()
        self._failing = False
        self._ahead: deque[segments.SegmentRecord] = deque()
        self._sent_file = -1
        try:
            self._writer: segments.SegmentWriter | None = self._opened()
            self._sent = self._load_sent()
            self._segments = deque(self._counted(path) for path in segments.segments(folder))
        except segments.LockedError as error:
            raise SpoolError(
                f"another agent spools to {folder}; give this one a spool.folder of its own"
            ) from error
        except OSError as error:
            raise SpoolError(f"the spool {folder}: {error.strerror or error}") from error
        self._tidy()
        self._show()

    @classmethod
    def open(
        cls, folder: Path | None, *, max_bytes: int, environ: Mapping[str, str], health: AgentHealth
    ) -> "DiskSpool":
        """Return the spool in the folder asked for, else in the first default that can be had."""
        chosen = folder or state.folder("spool", environ)
        try:
            chosen.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise SpoolError(
                f"the spool {chosen}: {error.strerror or error}; set spool.folder"
            ) from error
        return cls(chosen, max_bytes=max_bytes, health=health)

    @property
    def records(self) -> int:
        """Return how many batches wait."""
        with self._lock:
            return sum(segment.waiting for segment in self._segments)

    @property
    def size(self) -> int:
        """Return the bytes of all segment files."""
        with self._lock:
            return sum(segment.size for segment in self._segments)

    def append(self, kind: int, at_ns: int, payload: bytes) -> None:
        """Keep a batch. A disk that fails costs the batch, counted, never more."""
        with self._lock:
            try:
                if self._writer is None:
                    self._writer = self._opened()
                self._append(self._writer, kind, at_ns, payload)
            except (OSError, segments.SegmentError) as error:
                self._health.count("spool_dropped", "disk")
                if not self._failing:
                    _log.error("the spool cannot be written (%s); telemetry is dropped", error)
                self._failing = True
                return
            if self._failing:
                _log.warning("the spool can be written again")
                self._failing = False
            while len(self._segments) > 1 and self._total() > self._max_bytes:
                self._health.count("spool_dropped", "full", by=self._segments[0].waiting)
                self._drop_first()
            self._show()

    def first(self) -> segments.SegmentRecord | None:
        """Return the oldest batch that waits, the same until it is `done`; None when none does."""
        with self._lock:
            while not self._ahead and self._segments and self._segments[0].waiting:
                first = self._segments[0]
                self._ahead.extend(islice(self._waiting(first.path), _AHEAD))
                if not self._ahead:
                    # The file holds less than it did: damaged under us, no more to be had from it.
                    self._health.count("spool_dropped", "damaged", by=first.waiting)
                    first.waiting = 0
                    self._tidy()
            return self._ahead[0] if self._ahead else None

    def done(self, record: segments.SegmentRecord) -> None:
        """Forget a batch that the collector took or refused for good."""
        with self._lock:
            if not self._ahead or self._ahead[0] is not record:
                return  # dropped meanwhile, for room
            self._ahead.popleft()
            self._segments[0].waiting -= 1
            self._sent = (record.segment, record.end)
            self._save_sent()
            self._tidy()
            self._show()

    def close(self) -> None:
        """Close the files; what waits stays for the next start."""
        with self._lock:
            if self._sent_file >= 0:
                os.close(self._sent_file)
                self._sent_file = -1
            if self._writer is None:
                return
            with contextlib.suppress(OSError):
                self._writer.close()
            self._writer = None
            self._tidy()

    def _opened(self) -> segments.SegmentWriter:
        # Batches come compressed as they will travel.
        return segments.SegmentWriter(self._folder, segment_bytes=self._segment_bytes, codec="raw")

    def _append(
        self, writer: segments.SegmentWriter, kind: int, at_ns: int, payload: bytes
    ) -> None:
        caught_up = len(self._ahead) == sum(segment.waiting for segment in self._segments)
        size = writer.append(kind, at_ns, payload)
        path = self._folder / (writer.writing or "")
        if not self._segments or self._segments[-1].path != path:
            self._segments.append(_SpoolSegment(path, 0, path.stat().st_size - size))
            self._tidy()
        last = self._segments[-1]
        start = last.size
        last.size += size
        last.waiting += 1
        if caught_up and len(self._ahead) < _AHEAD:
            # The sender keeps up: what it sends next need not be read from disk.
            self._ahead.append(
                segments.SegmentRecord(kind, at_ns, payload, path.name, start, start + size)
            )

    def _show(self) -> None:
        # Shown from here: whoever asked `size` would wait with us for the disk.
        self._health.show("spool_bytes", self._total())
        self._health.show("spool_records", sum(segment.waiting for segment in self._segments))

    def _total(self) -> int:
        return sum(segment.size for segment in self._segments)

    def _tidy(self) -> None:
        """Delete segments that are done with, all but the one being written."""
        writing = self._writer.writing if self._writer else None
        while self._segments and not self._segments[0].waiting:
            if self._segments[0].path.name == writing:
                return
            self._drop_first()

    def _drop_first(self) -> None:
        dropped = self._segments.popleft()
        while self._ahead and self._ahead[0].segment == dropped.path.name:
            self._ahead.popleft()
        with contextlib.suppress(OSError):
            dropped.path.unlink()

    def _counted(self, path: Path) -> _SpoolSegment:
        return _SpoolSegment(path, sum(1 for _ in self._waiting(path)), path.stat().st_size)

    def _waiting(self, path: Path) -> Iterator[segments.SegmentRecord]:
        """Yield a file's batches that were not sent, up to its end or to the first damaged one."""
        try:
            yield from segments.read(path, after=self._sent)
        except (OSError, segments.SegmentError) as error:
            _log.warning("a batch and what follows it in its file are lost: %s", error)

    def _load_sent(self) -> segments.Position | None:
        """Return up to where batches were acknowledged before."""
        try:
            name, text = (self._folder / _SENT).read_text().split()
            offset = int(text)
        except (OSError, ValueError):
            return None  # never written, or torn by a crash: some batches are sent twice
        names = [path.name for path in segments.segments(self._folder)]
        if name in names or (names and name < names[0]):
            return name, offset
        # Numbers began anew in an emptied folder: the old place says nothing about the new files.
        (self._folder / _SENT).unlink(missing_ok=True)
        return None

    def _save_sent(self) -> None:
        if self._sent is None:
            return
        text = f"{self._sent[0]} {self._sent[1]}\n".ljust(_SENT_BYTES)
        # A disk that fails here costs no more than a batch sent twice after a restart.
        with contextlib.suppress(OSError):
            if self._sent_file < 0:
                self._sent_file = os.open(
                    self._folder / _SENT, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600
                )
            os.pwrite(self._sent_file, text.encode(), 0)
