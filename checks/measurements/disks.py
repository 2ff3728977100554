"""Disks: a temporary file without a name, written and synced; nothing is left, whatever happens."""

import os
import tempfile
import time
from pathlib import Path

from .rows import CheckOrder, MeasuredRow, repeated
from .time_shares import HostTimes

_BYTES = 16 << 20
_BLOCK = 1 << 20
_FREE = 4
"""So many times what it writes must be free."""
SHARED_TYPES = frozenset(
    ("nfs", "nfs4", "lustre", "gpfs", "ceph", "fuse.ceph", "beegfs", "wekafs", "cifs", "smb3",
     "glusterfs", "fuse.glusterfs", "orangefs", "pvfs2", "virtiofs", "9p", "fuse.juicefs")
)  # fmt: skip
"""Types of file systems that several hosts may share."""


def local_disk(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes written a second in the folder for temporary files."""
    return [_written(order, Path(order.temporary_path or tempfile.gettempdir()))]


def shared_disk(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes written a second on shared storage: in the folder asked for, else the first."""
    if order.shared_path:
        return [_written(order, Path(order.shared_path))]
    for kind, mount in _mounts():
        if kind in SHARED_TYPES and os.access(mount, os.W_OK):
            return [_written(order, Path(mount))]
    why = "no shared file system is mounted here that may be written; name a folder (--shared PATH)"
    return [MeasuredRow("shared", missing=why)]


def _written(order: CheckOrder, folder: Path) -> MeasuredRow:
    count = max(_BLOCK, int(_BYTES * order.fraction) // _BLOCK * _BLOCK)
    device = str(folder)
    try:
        free = os.statvfs(folder)
        if free.f_flag & os.ST_RDONLY:
            return MeasuredRow(device, failed=f"{folder} is mounted read-only")
        if free.f_bavail * free.f_frsize < _FREE * count:
            return MeasuredRow(device, failed=f"{folder} has no room for {_FREE * count} bytes")
        # Opened without a name, or unlinked at once: nothing is left of it after a kill either.
        with tempfile.TemporaryFile(dir=folder) as file:
            number = file.fileno()
            block = os.urandom(_BLOCK)

            def once() -> float:
                os.lseek(number, 0, os.SEEK_SET)
                before = time.monotonic()
                for _ in range(count // _BLOCK):
                    os.write(number, block)
                os.fsync(number)
                taken = time.monotonic() - before
                if order.extra:
                    time.sleep(taken * order.extra)
                return count / max(time.monotonic() - before, 1e-9)

            start = HostTimes.read()
            samples = repeated(once, seconds=order.seconds, now=time.monotonic)
            others = start.others_until(HostTimes.read())
    except OSError as error:
        return MeasuredRow(device, failed=f"{folder}: {error.strerror or error}")
    return MeasuredRow(device, samples, _kind(folder), 0.75, others=others)


def _kind(folder: Path) -> str:
    """Return the type of file system that a folder is on."""
    best = ("", "unknown")
    whole = str(folder.resolve())
    for kind, mount in _mounts():
        inside = whole == mount or whole.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]


def _mounts() -> list[tuple[str, str]]:
    """Return type and mount point of each file system, in the kernel's order."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    rows = [line.split(" ") for line in lines.splitlines()]
    return [(row[2], row[1].replace("\\040", " ")) for row in rows if len(row) > 2]
