"""Reads the files of training jobs as they grow, within a share of a CPU.

A job may log faster than its lines can be looked at. Then the newest part of each second is read
and the rest left out, counted: lines of training come in all seconds, and a fault is repeated.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Protocol

from ...formats import names, tensorboard
from ...formats.tensorboard import EventParser
from ...formats.training_logs import LineFormat, LoggedLine, TrainingLogParser
from ..health import AgentHealth
from .lines import LaunchedProcesses, LogBatch, LogLines
from .positions import FilePositions
from .sources import Inode, LogSource, LogSources
from .tail import FileTail

_PIECE = 256 << 10
_FIRST_PACE = 30e6
"""Bytes a second of CPU time that a first turn expects to read."""
_LEAST = 64 << 10
_WAITING = 8 << 20
"""Bytes of a file that may wait to be read."""
_TURN_SECONDS = 1.0
"""Between two turns: lines without a time of their own are that much older at most."""
_FIND_SECONDS = 5.0
_LINGER_SECONDS = 30.0
"""How long a file is followed after the last process that wrote it ended."""
_BURST_SECONDS = 2.0
_WARN_SECONDS = 60.0
_LONGEST_NAME = 300
_SHOWN = 5

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _FollowedFile:
    source: LogSource
    tail: FileTail
    parser: TrainingLogParser | EventParser
    seen_at: float
    missed: dict[str, int] = field(default_factory=dict)


class LogForward(Protocol):
    """Takes the bytes of logs as they are read."""

    def take(self, source: LogSource, data: bytes, since: float, at: float) -> None:
        """Take the next bytes of a file, written between two times."""
        ...

    def left_out(self, source: LogSource) -> None:
        """Note that bytes of a file were not read."""
        ...

    def end(self, source: LogSource, at: float) -> None:
        """Take the end of a file."""
        ...


class LogFollower:
    """Follows files; `turn` is to be called every second or so, by one thread."""

    def __init__(
        self,
        *,
        sources: LogSources,
        positions: FilePositions,
        health: AgentHealth,
        deliver: Callable[[LogBatch | LaunchedProcesses], None],
        formats: Sequence[LineFormat] | None = None,
        zone: tzinfo | None = None,
        share: float = 0.04,
        forward: LogForward | None = None,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self._sources = sources
        self._positions = positions
        self._health = health
        self._deliver = deliver
        self._formats = formats
        self._zone = zone
        self._share = share
        self._forward = forward
        self._cpu = cpu
        self._pace = _FIRST_PACE
        self._budget = share * _BURST_SECONDS
        self._turned_at: float | None = None
        self._found_at: float | None = None
        self._started_at: float | None = None
        self._files: dict[Inode, _FollowedFile] = {}
        self._lines = LogLines(deliver=deliver, rank_of=sources.rank_of, health=health)
        self._warned_at = -_WARN_SECONDS

    def turn(self, now: float) -> None:
        """Read what was written since the last turn."""
        before = self._cpu()
        since = 0.0 if self._turned_at is None else max(0.0, now - self._turned_at)
        self._turned_at = now
        self._budget = min(
            self._budget + self._share * since, self._share * max(_BURST_SECONDS, since)
        )
        if self._found_at is None or not 0 <= now - self._found_at < _FIND_SECONDS:
            self._found_at = now
            self._find(now)
        self._lines.begin()
        waiting = {inode: one.tail.grown() for inode, one in self._files.items()}
        growing = {inode: count for inode, count in waiting.items() if count}
        if growing and self._budget > 0:
            room = max(int(self._budget * self._pace), _LEAST)
            self._read(growing, room, now, now - min(since, _TURN_SECONDS))
        self._lines.repeated(now)
        self._budget -= self._cpu() - before

    def close(self, now: float) -> None:
        """Read what is left, as far as a turn goes, and close the files."""
        self._found_at = now
        self.turn(now)
        for one in list(self._files.values()):
            self._leave(one, now)
        self._positions.save()

    def _find(self, now: float) -> None:
        found = self._sources.find(now)
        if launched := tuple(one for one in self._sources.launched() if not one.agent):
            self._deliver(LaunchedProcesses(launched))
        first = self._started_at is None
        self._started_at = now if first else self._started_at
        for inode, source in found.items():
            known = self._files.get(inode)
            if known is None:
                self._open(source, now, first=first)
            elif (known.source.job, known.source.attempt, known.source.ranks) != (
                source.job,
                source.attempt,
                source.ranks,
            ):
                known.source = source
                known.seen_at = now
                known.parser.attribute(
                    rank=source.rank,
                    world_size=source.world_size,
                    local_ranks=source.local_ranks,
                )
            else:
                known.seen_at = now
        for one in list(self._files.values()):
            if now - one.seen_at > _LINGER_SECONDS and not one.tail.grown():
                self._leave(one, now)
        for one in self._files.values():
            self._positions.keep(one.tail.inode, one.tail.position, one.tail.head)
        self._positions.save()
        self._health.show("log_files", len(self._files))

    def _open(self, source: LogSource, now: float, *, first: bool) -> None:
        kept = self._positions.of(source.inode)
        position, head = kept if kept is not None else (None, "")
        if kept is None and source.fresh and not first:
            position = 0
        try:
            tail = FileTail(source.open_path, position=position, head=head)
        except OSError as error:
            self._health.count("log_failures", type(error).__name__)
            return
        if tail.inode != source.inode:  # another file by now: found by the next look
            tail.close()
            return
        one = self._files[source.inode] = _FollowedFile(source, tail, self._parser(source), now)
        if tail.torn:
            one.parser.skip()
            if self._forward:
                self._forward.left_out(source)
        name = names.printable(source.name, _LONGEST_NAME)
        _log.info("following %s: job %s, %s", name, source.job, _whose(source))

    def _parser(self, source: LogSource) -> TrainingLogParser | EventParser:
        if tensorboard.MARK in source.name.rpartition("/")[2]:
            return EventParser(rank=source.rank, world_size=source.world_size)
        return TrainingLogParser(
            rank=source.rank,
            world_size=source.world_size,
            local_ranks=source.local_ranks,
            formats=self._formats,
            zone=self._zone,
        )

    def _leave(self, one: _FollowedFile, now: float) -> None:
        self._take(one, one.parser.end(now), now)
        self._positions.keep(one.tail.inode, one.tail.position, one.tail.head)
        one.tail.close()
        if self._forward:
            self._forward.end(one.source, now)
        self._lines.forget(one.source)
        self._files.pop(one.tail.inode, None)

    def _read(self, growing: dict[Inode, int], room: int, now: float, since: float) -> None:
        """Read up to `room` bytes, the same of every file that has as many.

        What is more waits for the next turns; where too much waits, the newest is read.
        """
        left = len(growing)
        started, read = self._cpu(), 0
        for inode, count in sorted(growing.items(), key=lambda item: item[1]):
            one = self._files[inode]
            most = room // left
            left -= 1
            if count > max(_WAITING, most):
                self._skip(one, count - most, now)
            count = min(count, most)
            room -= count
            read += count
            self._read_one(one, count, now, since)
        used = self._cpu() - started
        if read >= _PIECE and used > 0:
            self._pace += 0.3 * (read / used - self._pace)

    def _read_one(self, one: _FollowedFile, count: int, now: float, since: float) -> None:
        """Read what was written since a time, evenly as far as can be known."""
        left = count
        while left > 0:
            data = one.tail.read(min(left, _PIECE))
            if not data:
                return
            begun, left = now - (now - since) * left / count, left - len(data)
            read_to = now - (now - since) * left / count
            self._health.count("log_bytes", by=len(data))
            if self._forward and isinstance(one.parser, TrainingLogParser):
                self._forward.take(one.source, data, begun, read_to)
            self._take(one, one.parser.feed(data, read_to, begun), now)

    def _skip(self, one: _FollowedFile, count: int, now: float) -> None:
        one.tail.skip_to(one.tail.position + count)
        one.parser.skip()
        if self._forward:
            self._forward.left_out(one.source)
        self._health.count("log_bytes_skipped", by=count)
        if now - self._warned_at >= _WARN_SECONDS:
            self._warned_at = now
            _log.warning(
                "%s grows faster than logs.cpu_share allows to read: %d bytes left out in this "
                "turn; what is read is a sample of its lines",
                one.source.name,
                count,
            )

    def _take(self, one: _FollowedFile, logged: Sequence[LoggedLine], now: float) -> None:
        """Deliver what lines say, and count those that could not be read."""
        for reason, count in one.parser.missed.items():
            new = count - one.missed.get(reason, 0)
            if new > 0:
                self._health.count("log_lines_missed", reason, by=new)
                one.missed[reason] = count
        self._lines.take(one.source, logged, now)


def _whose(source: LogSource) -> str:
    if not source.ranks:
        return "ranks by its lines"
    ranks = ",".join(map(str, sorted(source.ranks)[:16]))
    return f"rank {ranks}" if len(source.ranks) == 1 else f"ranks {ranks}"


def described(sources: Sequence[LogSource]) -> str:
    """Return which files are followed, as `rankscope doctor` shows it; "" for none."""
    parts = [f"{one.name} (job {one.job}, {_whose(one)})" for one in sources[:_SHOWN]]
    more = f" and {len(sources) - _SHOWN} more" if len(sources) > _SHOWN else ""
    return "; ".join(parts) + more
