"""Which files are logs of training jobs, and whose: by processes' descriptors, and by names.

A process that a launcher gave a rank writes its log to where its standard output and error go. Its
environment says which job it belongs to; files of names from the settings have a job from there.
"""

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import procfs
from ..rank_processes import RankProcess, RankProcesses

if TYPE_CHECKING:
    from ..settings import LogFiles

_DESCRIPTORS = (1, 2)
_MOST = 512
"""Files that are followed at once."""
_APPEND = os.O_APPEND

_RANK_IN_NAME = re.compile(r"(?:^|[/_.-])rank[_.-]?(\d{1,7})(?!\d)", re.IGNORECASE)

_EVENT_FOLDERS = (
    "", "runs/", "runs/*/", "*/runs/*/", "tensorboard/", "tb/", "tb_logs/*/", "tb_logs/*/*/",
    "lightning_logs/*/", "logs/*/", "*/tensorboard/", "outputs/tb/*/",
)  # fmt: skip
"""Where torch, the Trainer, Lightning and torchtitan put TensorBoard's files by default."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "tini", "dumb-init", "numactl", "env"})

Inode = tuple[int, int]
"""What a file is, whatever it is called: device and number."""


@dataclass(slots=True)
class LogSource:
    """A file to follow.

    `open_path` is what to open, which for a process's own is its descriptor: the name that it had
    may be of another mount namespace, or gone. `fresh`: its writer began to write it just now.
    """

    inode: Inode
    name: str
    open_path: str
    job: str
    attempt: int | None
    fresh: bool
    ranks: dict[int, int] = field(default_factory=dict)
    """Local ranks by rank, of all writers that share the file."""
    world_size: int | None = None

    @property
    def rank(self) -> int | None:
        """Return whose log it is where it is one rank's alone."""
        return next(iter(self.ranks)) if len(self.ranks) == 1 else None

    @property
    def local_ranks(self) -> dict[int, int]:
        """Return the ranks of its writers by local rank."""
        return {local: rank for rank, local in self.ranks.items()}


class LogSources:
    """Looks for files; `find` is to be called every few seconds."""

    def __init__(
        self,
        *,
        processes: RankProcesses | None,
        named: Sequence["LogFiles"] = (),
        trusted: frozenset[int] | None = None,
    ) -> None:
        """Take the processes whose files are followed, None: only those of names.

        trusted: users whose links may lead to anybody's files; None: root and the agent's own.
        """
        self._trusted = frozenset({0, os.geteuid()}) if trusted is None else trusted
        self._processes = processes
        self._named = named
        self._proc = processes.proc if processes is not None else procfs.PROC
        self._writers: dict[int, RankProcess] = {}
        self._finds = 0
        self.refused = 0
        """Files and processes of the last look that may not be read."""

    def launched(self) -> tuple[RankProcess, ...]:
        """Return one process a rank of those that the last look found, as a launcher started them.

        What a rank starts (data loader workers, compilers) has its variables too, and a wrapper
        such as a shell script stands before it: a rank's own is the first below its wrappers.
        """
        found: list[RankProcess] = []
        children: dict[int, list[int]] = {}
        for pid, writer in self._writers.items():
            if _same_rank(writer, self._writers.get(writer.parent)):
                children.setdefault(writer.parent, []).append(pid)
        for pid, writer in self._writers.items():
            if _same_rank(writer, self._writers.get(writer.parent)):
                continue
            while len(below := children.get(pid, [])) == 1 and self._is_shell(pid):
                pid = below[0]
            found.append(self._writers[pid])
        return tuple(found)

    def rank_of(self, source: LogSource, pid: object) -> int | None:
        """Return the rank of a source's process by its pid in its own namespace.

        None where no process has it, or two of different ranks do.
        """
        ranks = {
            one.rank
            for one in self._writers.values()
            if one.own_pid == pid and one.of == (source.job, source.attempt)
        }
        return ranks.pop() if len(ranks) == 1 else None

    def _is_shell(self, pid: int) -> bool:
        return (procfs.read(f"{self._proc}/{pid}/comm") or "").strip() in _SHELLS

    def find(self, now: float) -> dict[Inode, LogSource]:
        self.refused = 0
        self._finds += 1
        found: dict[Inode, LogSource] = {}
        for files in self._named:
            self._add_named(files, found)
        if self._processes is None:
            return found
        by_pid = sorted(self._processes.find(now), key=lambda one: one.pid)
        self._writers = writers = {one.pid: one for one in by_pid}
        for writer in self.launched():
            self._add_event_files(writer, found)
        for pid, writer in writers.items():
            self._add_descriptors(pid, writer, found, own=True)
        for pid, writer in writers.items():
            # The launcher, parent of ranks, writes why it gave up; a daemon of the system's
            # that started them writes about other jobs.
            if writer.parent not in writers and self._one_user(pid, writer.parent):
                self._add_descriptors(writer.parent, writer, found, own=False)
        return found

    def _add_descriptors(
        self, pid: int, writer: RankProcess, found: dict[Inode, LogSource], *, own: bool
    ) -> None:
        for number in _DESCRIPTORS:
            path = f"{self._proc}/{pid}/fd/{number}"
            status = self._regular(path)
            if status is None:
                continue
            inode = (status.st_dev, status.st_ino)
            source = found.get(inode)
            if source is None:
                if len(found) >= _MOST:
                    return
                try:
                    name = os.readlink(path)  # noqa: PTH115  the kernel's, not a path
                except OSError:
                    name = path
                source = found[inode] = LogSource(
                    inode=inode,
                    name=name,
                    open_path=path,
                    job=writer.job,
                    attempt=writer.attempt,
                    fresh=not self._appended(pid, number),
                    world_size=writer.world_size,
                )
            if own and source.job == writer.job:
                source.ranks[writer.rank] = writer.local_rank

    def _add_event_files(self, writer: RankProcess, found: dict[Inode, LogSource]) -> None:
        """Add TensorBoard's files of a process: below its folder, with its pid in their names.

        What writes them closes them in between, so that no descriptor leads there.
        """
        pid, pids = str(writer.pid), {str(writer.pid), str(writer.own_pid)}
        folder = glob.escape(f"{self._proc}/{pid}/cwd")
        for below in _EVENT_FOLDERS:
            for name in self._names(f"{folder}/{below}events.out.tfevents.*"):
                if len(found) >= _MOST or not pids & set(name.rpartition("/")[2].split(".")[4:]):
                    continue
                status = self._regular(name, len(f"{self._proc}/{pid}/cwd"))
                if status is None:
                    continue
                inode = (status.st_dev, status.st_ino)
                if inode not in found:
                    found[inode] = LogSource(
                        inode=inode,
                        name=name,
                        open_path=name,
                        job=writer.job,
                        attempt=writer.attempt,
                        fresh=self._finds > 1,
                        ranks={writer.rank: writer.local_rank},
                        world_size=writer.world_size,
                    )

    def _one_user(self, pid: int, parent: int) -> bool:
        try:
            owners = [(self._proc / str(one)).stat().st_uid for one in (pid, parent)]
        except OSError:
            return False
        return owners[0] == owners[1]

    def _add_named(self, files: "LogFiles", found: dict[Inode, LogSource]) -> None:
        for name in self._names(files.path):
            status = self._regular(name, 0)
            if status is None or len(found) >= _MOST:
                continue
            inode = (status.st_dev, status.st_ino)
            if inode in found:
                continue
            source = found[inode] = LogSource(
                inode=inode,
                name=name,
                open_path=name,
                job=files.job,
                attempt=files.attempt,
                fresh=self._finds > 1,
                world_size=files.world_size,
            )
            rank = files.rank
            if rank is None and (in_name := _RANK_IN_NAME.search(name)):
                rank = int(in_name[1])
            if rank is not None:
                source.ranks[rank] = rank

    def _names(self, pattern: str) -> Iterator[str]:
        for number, name in enumerate(glob.iglob(pattern, recursive=True)):  # noqa: PTH207  strings
            if number >= _MOST:
                return
            yield name

    def _regular(self, path: str, known: int | None = None) -> os.stat_result | None:
        """Return the status of a regular file that may be read, None for anything else.

        The agent may read what the job's user may not, so a link must not lead to a file of
        somebody else than who made it. `known`: so much of the path is the kernel's own.
        """
        try:
            status = os.stat(path)  # noqa: PTH116  thousands of them
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        if not os.access(path, os.R_OK) or not (
            known is None or self._links_permitted(path, known, status.st_uid)
        ):
            self.refused += 1
            return None
        return status

    def _links_permitted(self, path: str, known: int, owner: int) -> bool:
        """Return whether each link on the way is of the file's owner, or of who may read all."""
        end = known
        while end < len(path):
            end = path.find("/", end + 1)
            end = len(path) if end < 0 else end
            try:
                status = os.lstat(path[:end])
            except OSError:
                return False
            allowed = status.st_uid == owner or status.st_uid in self._trusted
            if stat.S_ISLNK(status.st_mode) and not allowed:
                return False
        return True

    def _appended(self, pid: int, number: int) -> bool:
        """Return whether a file is written at its end: what is in it may be of an earlier job."""
        text = procfs.read(f"{self._proc}/{pid}/fdinfo/{number}") or ""
        flags = text.partition("flags:")[2].split()[:1]
        return not flags or bool(int(flags[0], 8) & _APPEND)


def _same_rank(process: RankProcess, parent: RankProcess | None) -> bool:
    """Tell whether a process has its variables from its parent, both of one rank."""
    return parent is not None and (process.of, process.rank) == (parent.of, parent.rank)
