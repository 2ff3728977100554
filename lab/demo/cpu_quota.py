"""A CPU quota for some processes: a control group of their own, removed at the end (v1 and v2)."""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .unsupported import InjectionUnsupportedError

_PERIOD = 100_000
"""Microseconds, the kernel's own."""


def check(root: Path = Path("/sys/fs/cgroup")) -> Path:
    """Return the folder in which groups with a CPU quota can be made.

    Raises InjectionUnsupportedError.
    """
    for folder, file in ((root / "cpu", "cpu.cfs_quota_us"), (root, "cpu.max")):
        with contextlib.suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix="rankscope-lab-", dir=folder))
            try:
                if os.access(made / file, os.W_OK):
                    return folder
            finally:
                made.rmdir()
    raise InjectionUnsupportedError(
        f"no control group with a CPU quota can be made in {root}: not root?"
    )


def limit(pids: Sequence[int], cpus: float) -> Callable[[], None]:
    """Give these processes so many CPUs together; return what takes it back once they ended."""
    folder = check()
    group = Path(tempfile.mkdtemp(prefix="rankscope-lab-", dir=folder))
    quota = int(cpus * _PERIOD)
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota} {_PERIOD}", encoding="ascii")
    else:
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD), encoding="ascii")
        (group / "cpu.cfs_quota_us").write_text(str(quota), encoding="ascii")
    for pid in pids:
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def remove() -> None:
        for _ in range(50):  # the kernel takes a moment to forget its processes
            try:
                group.rmdir()
            except OSError:
                time.sleep(0.1)
            else:
                return

    return remove
