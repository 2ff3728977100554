"""From bytes of a followed file to records: one a line, with job, host, rank and file.

A line is sent as it was written, without its end; bytes that are no UTF-8 are replaced.
"""

import re
import time
from collections.abc import Callable

from ...formats.otlp import lines
from ...vocabulary.samples import Scalar, TelemetryResource
from ..health import AgentHealth
from ..training_logs.sources import Inode, LogSource
from .waiting import ForwardQueue

LONGEST = 64 << 10
"""Bytes of one record; a longer line goes on in the next ones."""
_BURST_SECONDS = 2.0
_MOST_PREFIXES = 4096

_WHOSE = re.compile(rb"(?:\x1b\[[0-9;]{0,20}m)*\[(?:rank(\d{1,7})|default(\d{1,7}))\]:")
"""What torchrun puts before a line: the rank, or the local rank."""


class LineForwarder:
    """Called by the thread that reads the files; bounded in bytes a second."""

    def __init__(
        self,
        *,
        waiting: ForwardQueue,
        resource_of: Callable[[str, int | None], TelemetryResource],
        bytes_per_second: int,
        health: AgentHealth,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._waiting = waiting
        self._resource_of = resource_of
        self._rate = bytes_per_second
        self._room = self._rate * _BURST_SECONDS
        self._filled_at: float | None = None
        self._health = health
        self._now = now
        self._rests: dict[Inode, bytes] = {}
        self._torn: set[Inode] = set()
        self._attributes: dict[tuple[str, int | None], bytes] = {}

    def take(self, source: LogSource, data: bytes, since: float, at: float) -> None:
        """Take the next bytes of a file, written between two times."""
        if source.inode in self._torn:
            _, newline, data = data.partition(b"\n")
            if not newline:
                return
            self._torn.discard(source.inode)
        *whole, rest = (self._rests.pop(source.inode, b"") + data).split(b"\n")
        if whole:
            self._send(source, whole, since, at)
        self._keep(source, rest, at)

    def left_out(self, source: LogSource) -> None:
        """Note that bytes of a file were not read: what is at hand is no line, nor what is next."""
        self._rests.pop(source.inode, None)
        self._torn.add(source.inode)

    def end(self, source: LogSource, at: float) -> None:
        """Take the end of a file: its last line may lack the end of line."""
        self._torn.discard(source.inode)
        if rest := self._rests.pop(source.inode, b""):
            self._send(source, [rest], at, at)

    def _keep(self, source: LogSource, rest: bytes, at: float) -> None:
        cut = len(rest) // LONGEST * LONGEST
        if cut:
            self._send(source, [rest[:cut]], at, at)
        if rest[cut:]:
            self._rests[source.inode] = rest[cut:]

    def _send(self, source: LogSource, written: list[bytes], since: float, at: float) -> None:
        observed = self._now()
        if self._filled_at is not None:
            more = self._rate * max(0.0, observed - self._filled_at)
            self._room = min(self._rate * _BURST_SECONDS, self._room + more)
        self._filled_at = observed
        records: list[bytes] = []
        dropped = 0
        step = (at - since) / len(written)
        for number, line in enumerate(written, 1):
            if len(line) > self._room:
                dropped += 1
                continue
            self._room -= len(line)
            moment = int((since + number * step) * 1e9)
            attributes = self._attributes_of(source, line)
            for begin in range(0, max(1, len(line)), LONGEST):
                piece = line if len(line) <= LONGEST else line[begin : begin + LONGEST]
                records.append(
                    lines.record(
                        piece,
                        at_ns=moment,
                        observed_ns=int(observed * 1e9),
                        attributes=attributes,
                    )
                )
        if dropped:
            self._health.count("forward_lines_dropped", "rate", by=dropped)
        if records:
            self._waiting.add(self._resource_of(source.job, source.attempt), records)

    def _attributes_of(self, source: LogSource, line: bytes) -> bytes:
        rank = source.rank
        if line[:1] in {b"[", b"\x1b"} and (whose := _WHOSE.match(line)):
            local = whose[2]
            rank = source.local_ranks.get(int(local)) if local else int(whose[1])
        key = (source.name, rank)
        found = self._attributes.get(key)
        if found is None:
            if len(self._attributes) >= _MOST_PREFIXES:
                self._attributes.clear()
            pairs: dict[str, Scalar] = {"log.file.path": source.name[-1000:]}
            if rank is not None:
                pairs["rank"] = rank
            found = self._attributes[key] = lines.attributes(pairs)
        return found
