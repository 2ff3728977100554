"""Throttling: how long the cgroup of a trainer was held back by its CPU quota (v2 and v1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs
from ..trainers import Trainer


@dataclass(frozen=True, slots=True)
class _Mount:
    """Where the cpu controller is mounted, and which cgroup its root shows us."""

    point: str
    root: str
    unified: bool


class Throttling:
    """Reads cpu.stat of each trainer's cgroup."""

    name = "throttling"

    def __init__(
        self,
        *,
        period: float,
        trainers: Callable[[], Sequence[Trainer]],
        proc: Path = procfs.PROC,
    ) -> None:
        self.period = period
        self._trainers = trainers
        self._proc = proc
        self._mounts = _mounts(procfs.read(f"{proc}/self/mountinfo") or "")

    def supported(self) -> tuple[bool, str]:
        """Tell whether a cpu controller is mounted."""
        if self._mounts:
            return True, ""
        return False, "no cgroup file system with the cpu controller is mounted here"

    def read(self, now: float) -> list[Sample]:
        """Return seconds a trainer's cgroup was throttled; nothing where no quota is kept."""
        samples = []
        for trainer in self._trainers():
            if trainer.pid is None:
                continue
            for cgroup, path in self._places(trainer.pid):
                seconds = _throttled(procfs.read(f"{path}/cpu.stat") or "")
                if seconds is not None:
                    pairs = attributes({"rank": trainer.rank, "pid": trainer.pid, "cgroup": cgroup})
                    samples.append(Sample("container.cpu.throttled", seconds, now, pairs))
                    break
        return samples

    def _places(self, pid: int) -> list[tuple[str, str]]:
        """Return (cgroup, folder) of a process, the version that has the controller first."""
        places = []
        for line in (procfs.read(f"{self._proc}/{pid}/cgroup") or "").splitlines():
            number, _, rest = line.partition(":")
            controllers, _, cgroup = rest.partition(":")
            unified = number == "0" and not controllers
            if not unified and "cpu" not in controllers.split(","):
                continue
            for mount in self._mounts:
                if mount.unified == unified and cgroup.startswith(mount.root):
                    below = cgroup[len(mount.root.rstrip("/")) :]
                    places.append((cgroup, mount.point + below))
        return places


def _mounts(mountinfo: str) -> tuple[_Mount, ...]:
    mounts = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        places, kinds = before.split(), after.split()
        if len(places) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2":
            mounts.append(_Mount(places[4], places[3], unified=True))
        elif kinds[0] == "cgroup" and "cpu" in kinds[2].split(","):
            mounts.append(_Mount(places[4], places[3], unified=False))
    return tuple(mounts)


def _throttled(text: str) -> float | None:
    fields = dict(line.split()[:2] for line in text.splitlines() if " " in line)
    if "throttled_usec" in fields:  # v2
        return int(fields["throttled_usec"]) / 1e6
    if "throttled_time" in fields:  # v1
        return int(fields["throttled_time"]) / 1e9
    return None
