"""NCCL Inspector: how long the collectives of each rank took, from the files that it writes.

Operations that ended, with their sizes and bus bandwidths; silent about one that hangs. Summed up
by rank, communicator and kind over each period.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...formats.nccl import figures, inspector
from ...formats.nccl.inspector import InspectorOperation
from ...vocabulary import operations
from ...vocabulary.groups import communicator_group, communicator_info
from ...vocabulary.samples import Event, Sample, Scalar, attributes
from ..background import BackgroundReader
from ..collectives.growing import GrowingFiles
from ..health import AgentHealth
from ..rank_processes import Attempt, RankProcess, RankProcesses, expanded
from ..training_logs import LogBatch

if TYPE_CHECKING:
    from ..settings import InspectorSettings, JobFolder

SOURCE = "inspector"
_INFO_SECONDS = 600.0
_ROOM = 16 << 20
"""Bytes of one turn, over all folders."""
_MOST_FOLDERS = 64
_MOST_OPERATIONS = 200_000
_MOST_COMMUNICATORS = 4096
"""Of a folder: what more of them a tenant writes is left out."""
_MOST_SINGLE = 16
"""Operations of a rank, group and kind that leave one by one in a turn: the newest."""


@dataclass(slots=True)
class _InspectorFolder:
    """One folder: whose it is, its files, and the ranks of processes that write there."""

    of: Attempt
    files: GrowingFiles
    named: bool = False
    ranks: dict[int, int] = field(default_factory=dict)
    """By pid as the process itself has it."""
    world_size: int = 0
    info_at: dict[str, float] = field(default_factory=dict)
    members: dict[str, dict[int, int]] = field(default_factory=dict)
    """By communicator: ranks of the job by rank in it."""


class NcclInspector(BackgroundReader):
    """Reads from a thread of its own; what is found leaves by `deliver`."""

    name = "nccl_inspector"

    def __init__(
        self,
        *,
        settings: "InspectorSettings",
        deliver: Callable[[LogBatch], None],
        health: AgentHealth,
        period: float,
        processes: RankProcesses | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(health=health, period=period, now=now)
        self._settings = settings
        self._deliver = deliver
        self._processes = processes or RankProcesses()
        self._folders: dict[tuple[int, int], _InspectorFolder] = {}

    def supported(self) -> tuple[bool, str]:
        """Return whether folders are followed, and which now."""
        if not self._settings.follow and not self._settings.folders:
            return False, "inspector.follow is off and inspector.folders names none"
        found = self._wanted(self._processes.find(self._now()))
        if not found:
            return True, "no process of a rank has NCCL_INSPECTOR_ENABLE=1"
        return True, f"follows {len(found)} folders"

    def close(self) -> None:
        """End the thread."""
        super().close()
        for one in self._folders.values():
            one.files.close()

    def turn(self, now: float) -> float:
        """Read what was written since; return after how many seconds the next turn is due."""
        self._refresh(self._wanted(self._processes.find(now)))
        for one in self._folders.values():
            self._take(one, self._ended(one), now)
            self._failed("lost_bytes", one.files.lost)
            self._failed("refused", one.files.refused)
            one.files.lost = 0
        return self.period

    def _ended(self, one: _InspectorFolder) -> Iterable[InspectorOperation]:
        room = _ROOM // len(self._folders)
        for number, found in enumerate(inspector.read(one.files.lines(room))):
            if found is None or number >= _MOST_OPERATIONS:
                self._failed("malformed" if found is None else "left_out", 1)
            elif not found.p2p:
                yield found

    def _take(
        self, one: _InspectorFolder, ended_now: Iterable[InspectorOperation], now: float
    ) -> None:
        placed: list[tuple[int, InspectorOperation]] = []
        for operation in ended_now:
            rank = one.ranks.get(operation.pid)
            if rank is None and (one.named or not one.ranks):
                # Without a process that can be looked at: the communicator of all counts alike.
                one.world_size = max(one.world_size, operation.ranks)
                if operation.ranks == one.world_size:
                    rank = one.ranks[operation.pid] = operation.rank
            if rank is None:
                self._failed("unknown_rank", 1)
                continue
            if operation.communicator not in one.members:
                if len(one.members) >= _MOST_COMMUNICATORS:
                    self._failed("left_out")
                    continue
                one.members[operation.communicator] = {}
            one.members[operation.communicator][operation.rank] = rank
            placed.append((rank, operation))
        if not placed:
            return
        self._health.show("collective_source_up", 1, self.name)
        samples: list[Sample] = []
        for (rank, communicator, op), ended in figures.grouped(placed).items():
            size = ended[0].ranks
            group = communicator_group(communicator, whole=size == one.world_size)
            labels: dict[str, Scalar] = {"rank": rank, "group": group, "op": op, "source": SOURCE}
            pairs = attributes(labels)
            samples += [
                Sample(name, value, now, pairs) for name, value in figures.figures(ended).items()
            ]
            self._describe(one, group, ended[0], now, samples)
        self._deliver(LogBatch(*one.of, samples, self._single(one, placed, now)))

    def _single(
        self, one: _InspectorFolder, placed: Sequence[tuple[int, InspectorOperation]], now: float
    ) -> list[Event]:
        """Return single operations, those of the same numbers on every rank."""
        every = self._settings.operations_every
        chosen = [pair for pair in placed if every and pair[1].sequence % every == 0]
        found: list[Event] = []
        for (rank, communicator, _), ended in figures.grouped(chosen).items():
            group = communicator_group(communicator, whole=ended[0].ranks == one.world_size)
            rows = [
                operations.MemberOperation(
                    each.op, each.sequence, each.size, each.began_at, each.ended_at, each.seconds
                )
                for each in ended[-_MOST_SINGLE:]
            ]
            pairs: dict[str, Scalar] = {
                "rank": rank, "group": group, "source": SOURCE, "text": operations.encode(rows),
            }  # fmt: skip
            found.append(Event(operations.EVENT, now, pairs))
        return found

    def _describe(
        self,
        one: _InspectorFolder,
        group: str,
        seen: InspectorOperation,
        now: float,
        samples: list[Sample],
    ) -> None:
        """Add who is in a group where that is known here: all of its members, or all ranks."""
        members = one.members[seen.communicator]
        if now - one.info_at.get(group, -_INFO_SECONDS) < _INFO_SECONDS or 0 not in members:
            return
        ranks: Sequence[int] = list(members.values())
        if seen.ranks == one.world_size:
            ranks = range(one.world_size)
        elif len(members) < seen.ranks:
            return
        one.info_at[group] = now
        samples.append(communicator_info(group, seen.name or seen.communicator, ranks, now))

    def _wanted(
        self, processes: Sequence[RankProcess]
    ) -> dict[Path, tuple[Attempt, "RankProcess | JobFolder", int | None]]:
        """Return by folder: whose it is, by which process or setting, and whose files count."""
        found: dict[Path, tuple[Attempt, RankProcess | JobFolder, int | None]] = {}
        for named in self._settings.folders:
            found[named.path] = ((named.job, named.attempt), named, None)
        if not self._settings.follow:
            return found
        for one in processes:
            if one.variables.get("NCCL_INSPECTOR_ENABLE", "0") == "0":
                continue
            job = one.variables.get("SLURM_JOBID", "unknown-jobid")
            name = one.variables.get("NCCL_INSPECTOR_DUMP_DIR") or f"nccl-inspector-{job}"
            path = self._processes.path(one, expanded(name, one))
            owner = self._processes.owner(one)
            if owner is not None and len(found) < _MOST_FOLDERS:
                found[path] = (one.of, one, owner)
        return found

    def _refresh(
        self, wanted: dict[Path, tuple[Attempt, "RankProcess | JobFolder", int | None]]
    ) -> None:
        """Open folders that are new, and note whose the pids are; each folder once."""
        living: set[tuple[int, int]] = set()
        for path, (of, by, owner) in wanted.items():
            try:
                status = path.stat()
            except OSError:
                continue
            inode = (status.st_dev, status.st_ino)
            one = self._folders.get(inode)
            if one is None or one.of != of:
                if one is not None and (inode in living or one.named):
                    continue  # of two jobs in one folder the first counts
                named = not isinstance(by, RankProcess)
                one = self._folders[inode] = _InspectorFolder(
                    of, GrowingFiles(path, owner=owner), named
                )
            living.add(inode)
            if isinstance(by, RankProcess):
                one.ranks[by.own_pid] = by.rank
                one.world_size = by.world_size
        for inode in [inode for inode in self._folders if inode not in living]:
            self._folders.pop(inode).files.close()
