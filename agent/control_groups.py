"""Where the kernel keeps what it counts of a process's cgroup, by controller (v2 and v1)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..vocabulary.samples import Attributes, attributes
from . import procfs
from .trainers import TrainerProcess

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class _ControllerMount:
    """Where a controller is mounted, and which cgroup its root shows us."""

    point: str
    root: str
    unified: bool


class ControlGroups:
    """The folders of one controller, such as cpu or memory, as far as they are mounted here."""

    def __init__(self, controller: str, *, proc: Path = procfs.PROC) -> None:
        self._controller = controller
        self._proc = proc
        self._mounts = _mounts(procfs.read(f"{proc}/self/mountinfo") or "", controller)

    def mounted(self) -> tuple[bool, str]:
        if self._mounts:
            return True, ""
        return (
            False,
            f"no cgroup file system with the {self._controller} controller is mounted here",
        )

    def places(self, pid: int) -> Sequence[tuple[str, str]]:
        """Return (cgroup, folder) of a process, the version that has the controller first."""
        places: list[tuple[str, str]] = []
        for line in (procfs.read(f"{self._proc}/{pid}/cgroup") or "").splitlines():
            number, _, rest = line.partition(":")
            controllers, _, cgroup = rest.partition(":")
            unified = number == "0" and not controllers
            if not unified and self._controller not in controllers.split(","):
                continue
            for mount in self._mounts:
                if mount.unified == unified and cgroup.startswith(mount.root):
                    below = cgroup[len(mount.root.rstrip("/")) :]
                    places.append((cgroup, mount.point + below))
        return places

    def of_trainers(
        self, trainers: Iterable[TrainerProcess], read: Callable[[str], _Read | None]
    ) -> Iterator[tuple[Attributes, _Read]]:
        """Yield, for each trainer, who and where it is, and what `read` finds in its folder.

        The first of a process's folders in which there is something counts.
        """
        for trainer in trainers:
            if trainer.pid is None:
                continue
            for cgroup, folder in self.places(trainer.pid):
                found = read(folder)
                if found is not None:
                    who = {"rank": trainer.rank, "pid": trainer.pid}
                    yield attributes({**who, "cgroup": cgroup}), found
                    break


def _mounts(mountinfo: str, controller: str) -> tuple[_ControllerMount, ...]:
    mounts: list[_ControllerMount] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        places, kinds = before.split(), after.split()
        if len(places) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2":
            mounts.append(_ControllerMount(places[4], places[3], unified=True))
        elif kinds[0] == "cgroup" and controller in kinds[2].split(","):
            mounts.append(_ControllerMount(places[4], places[3], unified=False))
    return tuple(mounts)
