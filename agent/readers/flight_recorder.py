"""PyTorch's Flight Recorder: how far each rank is in each group, from the dumps that it writes.

torch writes a dump when a collective times out, or when asked through its pipe, which this reader
does only where that is allowed and the job stands still. A dump is a tenant's pickle: it is read as
plain containers, nothing in it is executed.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...formats import flight_recorder
from ...formats.flight_recorder import DumpLedger, RecorderDump
from ...vocabulary import operations
from ...vocabulary.samples import Event, Sample, Scalar
from ..background import BackgroundReader
from ..collectives import debug_page, dump_pipe
from ..health import AgentHealth
from ..rank_processes import Attempt, RankProcess, RankProcesses, expanded
from ..training_logs import LogBatch

if TYPE_CHECKING:
    from ..settings import FlightRecorderSettings

_LAST_NUMBER = re.compile(r"(\d{1,7})$")
_SETTLED_SECONDS = 1.0
"""A dump that was written to so lately may not be whole."""
_SERVER_SECONDS = 70.0
"""torch's debug server waits a minute for ranks that do not answer it."""
_MOST_DUMPS = 1024
_MOST_NAMES = 4096
_MOST_SINGLE = 32
"""Operations of a rank and group that leave one by one: the newest."""
_HISTORY = 2000
"""Samples of what a rank did before: the newest."""


@dataclass(slots=True)
class _AttemptDumps:
    """The dumps of one attempt on this node, by rank, and when each file was written."""

    dumps: dict[int, RecorderDump] = field(default_factory=dict)
    written: dict[int, float] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    asked_at: float | None = None


class FlightRecorderReader(BackgroundReader):
    """Reads from a thread of its own; what is found leaves by `deliver`."""

    name = "flight_recorder"

    def __init__(
        self,
        *,
        settings: "FlightRecorderSettings",
        deliver: Callable[[LogBatch], None],
        still_since: Callable[[Attempt], float | None],
        health: AgentHealth,
        period: float,
        processes: RankProcesses | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(health=health, period=period, now=now)
        self._settings = settings
        self._deliver = deliver
        self._still_since = still_since
        self._processes = processes or RankProcesses()
        self._jobs: dict[Attempt, _AttemptDumps] = {}
        self._seen: dict[tuple[int, int], tuple[int, int]] = {}
        """By inode: time and size of dumps that were read or refused."""

    def supported(self) -> tuple[bool, str]:
        """Return whether dumps are looked for, and of whom."""
        if not self._settings.follow and not self._settings.folders:
            return False, "flight_recorder.follow is off and flight_recorder.folders names none"
        ranks = {(one.of, one.rank) for one in self._processes.find(self._now())}
        asked = "; asks those that stand still" if self._settings.ask else ""
        if not ranks and not self._settings.folders:
            return True, "no process of a rank whose environment may be read runs here"
        return True, f"looks for dumps of {len(ranks)} ranks{asked}"

    def turn(self, now: float) -> float:
        """Read dumps that are new; return after how many seconds the next turn is due."""
        processes = self._processes.find(now)
        fresh: dict[Attempt, set[int]] = {}
        for of, rank, path, owner, since in self._candidates(processes):
            dump = self._opened(path, owner, since, now)
            if dump is None:
                continue
            job = self._jobs.setdefault(of, _AttemptDumps())
            job.dumps[rank], job.written[rank] = dump
            job.names[rank] = path.name
            fresh.setdefault(of, set()).add(rank)
        for of, ranks in fresh.items():
            self._health.show("collective_source_up", 1, self.name)
            size = next((one.world_size for one in processes if one.of == of), None)
            self._deliver(_batch(of, self._jobs[of], ranks, size))
        if self._settings.ask:
            self._ask(processes, now)
        living = {one.of for one in processes} | {
            (named.job, named.attempt) for named in self._settings.folders
        }
        self._jobs = {of: job for of, job in self._jobs.items() if of in living}
        return self.period

    def _candidates(
        self, processes: Sequence[RankProcess]
    ) -> Iterator[tuple[Attempt, int, Path, int | None, float]]:
        """Yield (attempt, rank, file, whose it must be, since when) of each dump there may be."""
        for named in self._settings.folders:
            try:
                names = os.listdir(named.path)[:_MOST_NAMES]  # noqa: PTH208  names, not Paths
            except OSError:
                continue
            for name in sorted(names):
                rank = _LAST_NUMBER.search(name)
                if rank is not None:
                    yield (named.job, named.attempt), int(rank[1]), named.path / name, None, 0.0
        if not self._settings.follow:
            return
        for one in processes[:_MOST_DUMPS]:
            owner = self._processes.owner(one)
            if owner is not None:
                since = self._processes.started_at(one) or 0.0
                for prefix in _prefixes(one):
                    path = self._processes.path(one, f"{expanded(prefix, one)}{one.rank}")
                    yield one.of, one.rank, path, owner, since

    def _opened(
        self, path: Path, owner: int | None, since: float, now: float
    ) -> tuple[RecorderDump, float] | None:
        """Return a dump that is new and whole, and when it was written; None for any other file."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            inode, version = (status.st_dev, status.st_ino), (status.st_mtime_ns, status.st_size)
            if self._seen.get(inode) == version or now - status.st_mtime < _SETTLED_SECONDS:
                return None
            while len(self._seen) >= 2 * _MOST_DUMPS:
                del self._seen[next(iter(self._seen))]
            self._seen[inode] = version
            if status.st_mtime < since:
                return None  # of an earlier run
            if not stat.S_ISREG(status.st_mode) or (owner is not None and status.st_uid != owner):
                self._failed("foreign_file")
                return None
            if status.st_size > self._settings.max_bytes:
                self._failed("too_large")
                return None
            try:
                return flight_recorder.read(opened.read(self._settings.max_bytes + 1)), (
                    status.st_mtime
                )
            except (flight_recorder.DumpError, OSError):
                self._failed("malformed")
                return None

    def _ask(self, processes: Sequence[RankProcess], now: float) -> None:
        """Ask the processes of jobs that stand still for dumps: once a standstill, and rarely."""
        for of in sorted({one.of for one in processes}, key=str):
            still = self._still_since(of)
            job = self._jobs.setdefault(of, _AttemptDumps())
            if still is None or now - still < self._settings.ask_after_seconds:
                continue
            before = job.asked_at
            if before is not None and (
                before > still or now - before < self._settings.ask_every_seconds
            ):
                continue
            job.asked_at = now
            for one in processes:
                pipe = next(filter(None, map(one.variables.get, _PIPES)), None)
                owner = self._processes.owner(one)
                if one.of != of or not pipe or owner is None:
                    continue
                path = self._processes.path(one, f"{expanded(pipe, one)}{one.rank}.pipe")
                try:
                    dump_pipe.ask(path, owner=owner)
                except dump_pipe.PipeError as error:
                    self._failed(str(error))
                else:
                    self._health.count("flight_recorder_requests")
            if any(one.of == of and one.rank == 0 for one in processes):
                self._ask_server(of, job, processes, now)

    def _ask_server(
        self, of: Attempt, job: _AttemptDumps, processes: Sequence[RankProcess], now: float
    ) -> None:
        """Take what torch's debug server shows of all ranks, where the job has started one."""
        if not self._settings.debug_server:
            return
        try:
            lists = debug_page.ask(
                self._settings.debug_server,
                timeout=_SERVER_SECONDS,
                max_bytes=self._settings.max_bytes,
            )
        except debug_page.DebugPageError as error:
            if str(error) != "no_server":
                self._failed(str(error))
            return
        self._health.count("flight_recorder_requests")
        size = next((one.world_size for one in processes if one.of == of), None)
        fresh: set[int] = set()
        for rank, body in list(lists.items())[:_MOST_DUMPS]:
            if size is not None and rank >= size:
                continue
            try:
                job.dumps[rank] = flight_recorder.read(body)
            except flight_recorder.DumpError:
                self._failed("malformed")
                continue
            job.written[rank], job.names[rank] = now, "debug server"
            fresh.add(rank)
        if fresh:
            self._deliver(_batch(of, job, fresh, size))


_DUMP_FILES = (
    "TORCHCOMM_FR_DUMP_TEMP_FILE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_HCCL_DEBUG_INFO_TEMP_FILE",
)
_PIPES = ("TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "TORCH_HCCL_DEBUG_INFO_PIPE_FILE")


def _prefixes(one: RankProcess) -> list[str]:
    """Return what the names of a process's dumps begin with; torch renamed the variable."""
    named = [one.variables[name] for name in _DUMP_FILES if one.variables.get(name)]
    cache = one.variables.get("XDG_CACHE_HOME") or "~/.cache"
    return named or [f"{cache}/torch/comm_lib_trace_rank_", "/tmp/nccl_trace_rank_"]  # noqa: S108


def _batch(of: Attempt, job: _AttemptDumps, fresh: set[int], world_size: int | None) -> LogBatch:
    """Return what new dumps say, seen beside those of this node that are there already."""
    ledger = DumpLedger(flight_recorder.settled(job.dumps, world_size))
    samples: list[Sample] = []
    events: list[Event] = []
    for rank in sorted(fresh):
        at = job.written[rank]
        samples += ledger.progress(rank)[-_HISTORY:]
        # What did not complete soon after the last operation began never did.
        soon = ledger.last + 1.0
        samples += ledger.counters(rank, soon) if 0 < soon < at else []
        samples += ledger.counters(rank, at)
        samples += [
            group.info(at) for group in ledger.dumps[rank].groups if _lowest(job, group.ranks, rank)
        ]
    newest = max(job.written[rank] for rank in fresh)
    unlike = ledger.launches(newest)
    samples += unlike
    compared = {_member(one) for one in unlike}
    samples += [
        one
        for rank in sorted(fresh)
        for one in ledger.standing(rank, newest)
        if _member(one) not in compared
    ]
    for rank, entry, waited in ledger.timed_out(newest):
        if rank not in fresh:
            continue
        text = (
            f"collective operation timeout: {entry.op} {entry.sequence} of {entry.group.desc} "
            f"open for {waited:.0f} s ({job.names[rank]})"
        )
        pairs: dict[str, Scalar] = {
            "signature": "collective.timeout", "role": "cascade", "rank": rank, "text": text,
        }  # fmt: skip
        events.append(Event("log.fault", job.written[rank], pairs))
    for rank in sorted(fresh):
        for group, held in ledger.operations(rank).items():
            single: dict[str, Scalar] = {
                "rank": rank, "group": group.name, "source": "flight_recorder",
                "text": operations.encode(held[-_MOST_SINGLE:]),
            }  # fmt: skip
            events.append(Event(operations.EVENT, job.written[rank], single))
    return LogBatch(*of, samples, events)


def _member(sample: Sample) -> tuple[Scalar, Scalar]:
    labels = dict(sample.attributes)
    return labels["rank"], labels["group"]


def _lowest(job: _AttemptDumps, ranks: Sequence[int], rank: int) -> bool:
    """Tell whether a rank is the lowest of a group whose dump is here."""
    return min((one for one in ranks if one in job.dumps), default=-1) == rank
