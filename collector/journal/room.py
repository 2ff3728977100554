"""Whether the disk of a journal would take another group, found out without an entry."""

import errno
import os
from pathlib import Path

LEAST_BYTES = 1 << 20
"""Where less is left the next groups are refused, some now and some then."""
_PROBE_BYTES = 64 << 10


def check(folder: Path, *, file_open: bool, segment_bytes: int) -> str:
    """Return what will soon be short, "" where nothing is. Raises OSError where something is.

    `file_open`: a file is being written, so that the next entries need none of their own.
    """
    disk = os.statvfs(folder)
    root = os.geteuid() == 0
    left = (disk.f_bfree if root else disk.f_bavail) * disk.f_frsize
    files = disk.f_ffree if root else disk.f_favail
    if left < LEAST_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if disk.f_files and not files:  # some file systems do not count them
        if not file_open:
            raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} for another file (inodes)")
        return "the disk of the journal has no room for another file (df -i)"
    if left < segment_bytes:
        return f"the disk of the journal has {left >> 20} MiB left"
    return ""


def try_out(folder: Path) -> None:
    """Write a file and take it away again. Raises OSError as the disk does."""
    path = folder / f"probe.{os.getpid()}"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        data = bytes(_PROBE_BYTES)
        while data:
            data = data[os.write(file, data) :]
        os.fdatasync(file)
    finally:
        os.close(file)
        path.unlink(missing_ok=True)
