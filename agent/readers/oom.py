"""OOM kills without the kernel log: what the kernel counts, held against who is gone.

The kernel counts every kill (/proc/vmstat), and those of each cgroup (memory.events). Who was
killed it writes in its log only: here a trainer that ended in the same moment is taken for the
victim. While the kernel log is read, its lines come first and nothing is reported here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...vocabulary.samples import Event, Sample, Scalar
from .. import procfs
from ..control_groups import ControlGroups
from ..health import AgentHealth
from ..kernel_files import HeldFile
from ..trainers import TrainerProcess

_FILES = ("memory.events", "memory.oom_control")
"""cgroup v2 and v1; both have a line "oom_kill N"."""
_EXITING = 0x4
"""PF_EXITING in field 9 of /proc/PID/stat: a process of 200 GB takes seconds to go."""
_FLAGS = 9
_SOURCE = ("kernel_log",)
_LARGEST = 65536


@dataclass(slots=True)
class _CgroupKills:
    """What one cgroup counted last (the nameless one: all others), and what is not reported yet."""

    held: HeldFile | None = None
    counted: int | None = None
    waiting: int = 0
    waited: bool = False


@dataclass(slots=True)
class _KnownTrainer:
    """A trainer as of the last reading."""

    trainer: TrainerProcess
    cgroup: str
    reported: bool = False


class OomKills:
    """Looks every second. A kill is reported when its victim ends, else a second later."""

    name = "oom_kills"
    period = 1.0

    def __init__(
        self,
        *,
        trainers: Callable[[], Sequence[TrainerProcess]],
        emit: Callable[[Event], None],
        health: AgentHealth,
        proc: Path = procfs.PROC,
    ) -> None:
        self._trainers = trainers
        self._emit = emit
        self._health = health
        self._proc = proc
        self._control = ControlGroups("memory", proc=proc)
        self._vmstat = HeldFile(f"{proc}/vmstat")
        self._elsewhere = _CgroupKills()
        self._groups: dict[str, _CgroupKills] = {"": self._elsewhere}
        self._known: dict[int, _KnownTrainer] = {}

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel counts its kills."""
        if self._count() is None:
            return False, f"{self._proc}/vmstat has no oom_kill (Linux 4.13 has)"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return the kills since the host started; report those since the last reading."""
        self._meet()
        new = 0
        for group in self._groups.values():
            if group.held is not None:
                grown = _grow(group, _number(group.held.data()))
                group.waiting += grown
                new += grown
        total = self._count()
        others = _grow(self._elsewhere, total) - new
        self._elsewhere.waiting = max(0, self._elsewhere.waiting + others)
        if any(group.waiting for group in self._groups.values()):
            self._report_all(now)
        self._part()
        return [] if total is None else [Sample("system.oom_kills", float(total), now)]

    def _report_all(self, now: float) -> None:
        if self._kernel_log_is_read():
            for group in self._groups.values():
                group.waiting, group.waited = 0, False
            return
        for cgroup, group in self._groups.items():
            self._match(cgroup, group, now)

    def _match(self, cgroup: str, kills: _CgroupKills, now: float) -> None:
        """Report kills whose victims show; those that waited a turn are reported without one."""
        if not kills.waiting:
            return
        ended = [
            (pid, known)
            for pid, known in self._known.items()
            if known.cgroup == cgroup and not known.reported and self._ended(pid)
        ]
        if len(ended) <= kills.waiting:  # more than were killed: nobody knows which
            for pid, known in ended:
                known.reported = True
                kills.waiting -= 1
                self._report(now, pid=pid, rank=known.trainer.rank, cgroup=cgroup)
        if kills.waiting and kills.waited:
            self._report(now, cgroup=cgroup, count=kills.waiting)
            kills.waiting = 0
        kills.waited = kills.waiting > 0

    def _report(self, now: float, **pairs: Scalar) -> None:
        if not pairs.get("cgroup"):
            pairs.pop("cgroup", None)
        if pairs.get("count") == 1:
            del pairs["count"]
        pairs["text"] = "the kernel's counters show it; who else was killed is in its log"
        self._emit(Event("host.oom_kill", now, pairs))

    def _meet(self) -> None:
        """Learn the cgroups of trainers that are new; old ones stay until `_part`."""
        for trainer in self._trainers():
            if trainer.pid is None or trainer.pid in self._known:
                continue
            cgroup = ""
            for name, folder in self._control.places(trainer.pid):
                path = next(
                    (f"{folder}/{file}" for file in _FILES if Path(folder, file).is_file()), None
                )
                if path is None:
                    continue
                held = HeldFile(path)
                if (counted := _number(held.data())) is not None:
                    cgroup = name
                    self._groups.setdefault(name, _CgroupKills(held, counted))
                    break
            self._known[trainer.pid] = _KnownTrainer(trainer, cgroup)

    def _part(self) -> None:
        """Forget trainers that are no longer known, one reading later than everybody else."""
        now_known = {trainer.pid for trainer in self._trainers()}
        if not any(group.waiting for group in self._groups.values()):
            self._known = {pid: one for pid, one in self._known.items() if pid in now_known}
            used = {"", *(one.cgroup for one in self._known.values())}
            self._groups = {name: group for name, group in self._groups.items() if name in used}

    def _ended(self, pid: int) -> bool:
        found = procfs.stat(pid, self._proc)
        return found is None or found[3] in "ZX" or bool(int(found[_FLAGS]) & _EXITING)

    def _count(self) -> int | None:
        counted = self._vmstat.data(_LARGEST)
        return None if counted is None else _number(counted)

    def _kernel_log_is_read(self) -> bool:
        return any(
            measure.name == "rankscope_agent_source_up" and values.get(_SOURCE) == 1
            for measure, values in self._health.everything(0.0)
        )


def _number(text: bytes | None) -> int | None:
    """Return the number of the line "oom_kill N"."""
    _, found, rest = (b"\n" + (text or b"")).partition(b"\noom_kill ")
    return int(rest.split(maxsplit=1)[0]) if found else None


def _grow(kills: _CgroupKills, counted: int | None) -> int:
    """Note what a cgroup counts now; return by how much that is more."""
    if counted is None:
        return 0
    grown = 0 if kills.counted is None else max(0, counted - kills.counted)
    kills.counted = counted
    return grown
