"""Which boot this is, and when it was: faults belong to a boot, kernel logs count from it."""

import time
from pathlib import Path

from . import procfs


def boot_id(proc: Path = procfs.PROC) -> str:
    """Return the kernel's random name of this boot, "" where it cannot be read."""
    return (procfs.read(f"{proc}/sys/kernel/random/boot_id") or "").strip()


def booted_at() -> float:
    """Return when the kernel's log clock stood at zero, in seconds since the epoch.

    That clock does not run while the machine sleeps, and nobody sets it: over months it strays
    from the wall's by seconds.
    """
    return time.time() - time.clock_gettime(time.CLOCK_MONOTONIC)
