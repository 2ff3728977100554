"""Where the time of a busy process went: on a CPU, waiting for one, or kept back by somebody."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

_STEAL = 8
"""Place of the field in the lines of /proc/stat."""
_IDLE = 3
"""Place of idle time there, that of waiting for disks behind it."""
_TICK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """Seconds since some start: of the clock, on a CPU, waiting in the run queue, stolen, kept by
    a quota.
    """  # fmt: skip  # noqa: D205

    wall: float
    cpu: float
    queued: float
    stolen: float
    throttled: float

    @classmethod
    def read(cls) -> "ProcessTimes":
        """Return the times of this thread; what the kernel does not show is 0."""
        return cls(
            time.monotonic(),
            time.thread_time(),
            _queued(),
            _stolen(),
            throttled(),
        )


@dataclass(frozen=True, slots=True)
class TimeShares:
    """Shares of a stretch of a busy thread's time; what is left was on a CPU."""

    withheld: float
    """By a quota, the hypervisor, or a signal that stopped it."""
    waited: float
    """While another process had the CPU."""


def between(first: ProcessTimes, last: ProcessTimes) -> TimeShares:
    """Return where the time between two readings went, of a thread that never slept."""
    wall = max(last.wall - first.wall, 1e-9)
    away = max(wall - (last.cpu - first.cpu), 0.0)
    kept = min(max(last.throttled - first.throttled, last.stolen - first.stolen, 0.0), away)
    queued = min(max(last.queued - first.queued, 0.0), away - kept)
    # It was runnable all the time: neither on a CPU nor in a queue it was stopped.
    return TimeShares((away - queued) / wall, queued / wall)


@dataclass(frozen=True, slots=True)
class HostTimes:
    """Seconds of all CPUs since the boot: in all, busy, and busy with this process."""

    total: float
    busy: float
    own: float

    @classmethod
    def read(cls) -> "HostTimes":
        """Return the times of this host, 0 where the kernel does not show them."""
        try:
            first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
            ticks = [int(word) for word in first.split()[1 : _STEAL + 1]]
        except (OSError, ValueError):
            ticks = []
        total = sum(ticks) * _TICK_SECONDS
        idle = sum(ticks[_IDLE : _IDLE + 2]) * _TICK_SECONDS
        return cls(total, total - idle, sum(os.times()[:4]))

    def others_until(self, last: "HostTimes") -> float:
        """Return the share of all CPUs that other processes had until `last`."""
        total = last.total - self.total
        others = (last.busy - self.busy) - (last.own - self.own)
        return min(max(others / total, 0.0), 1.0) if total > 0 else 0.0

    def others_beside(self, last: "HostTimes") -> float:
        """Return the same for work within one core, which shares it where its threads are two."""
        try:
            shared = Path("/sys/devices/system/cpu/smt/active").read_text(encoding="ascii")
        except OSError:
            shared = "0"
        return self.others_until(last) if shared.strip() == "1" else 0.0


def _queued() -> float:
    try:
        words = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
        return int(words[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _stolen() -> float:
    """Return the stolen seconds of a CPU, as if they were shared out evenly."""
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        cpus = sum(line.startswith("cpu") for line in lines) - 1
        return int(lines[0].split()[_STEAL]) * _TICK_SECONDS / max(cpus, 1)
    except (OSError, ValueError, IndexError):
        return 0.0


def throttled(
    *, own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> float:
    """Return the seconds that quotas kept of this process's group or one above it, the most."""
    return max(
        (seconds for folder in _groups(own, root) if (seconds := _of_group(folder)) is not None),
        default=0.0,
    )


def _groups(own: Path, root: Path) -> list[Path]:
    """Return the folders of this process's groups and of those above, version 2's and 1's.

    In a container that does not see its own path they are not there, and the root is its own.
    """
    try:
        lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = [root, root / "cpu"]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            top = root / "cpu" if controllers else root
            inside = top / path.strip("/")
            found += [one for one in (inside, *inside.parents) if one.is_relative_to(top)]
    return found


def _of_group(folder: Path) -> float | None:
    try:
        lines = (folder / "cpu.stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    values = dict(line.split(" ", 1) for line in lines if " " in line)
    if "throttled_usec" in values:
        return int(values["throttled_usec"]) * 1e-6
    return int(values.get("throttled_time", "0")) * 1e-9
