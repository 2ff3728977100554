"""When this process started, from /proc: it separates attempts that no launcher numbers."""

import os
from pathlib import Path


def start_time(proc: Path = Path("/proc")) -> int | None:
    """Return seconds since the epoch, whole; None where there is no such /proc.

    The kernel counts clock ticks from the boot (field 22 of `self/stat`; the second field, the
    program's name, may itself hold spaces and brackets), and `stat` dates the boot.
    """
    try:
        fields = (proc / "self" / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        boot = next(
            int(line.split()[1])
            for line in (proc / "stat").read_text("utf-8").splitlines()
            if line.startswith("btime ")
        )
        return boot + int(fields[19]) // os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return None
