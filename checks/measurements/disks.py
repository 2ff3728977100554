"""Disks: a temporary file without a name, written and synced; nothing is left, whatever happens."""

import contextlib
import errno
import fcntl
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from . import blocks, host_buffers
from .rows import CheckOrder, MeasuredRow
from .time_shares import HostTimes

_BYTES = 64 << 20
_PIECE = 1 << 20
_DATA = 4 << 20
"""Of which it writes a piece: less is not given in huge pages, and then one write is many."""
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
    count = max(2 * _PIECE, int(_BYTES * order.fraction) // _PIECE * _PIECE)
    device = str(folder)
    try:
        free = os.statvfs(folder)
        if free.f_flag & os.ST_RDONLY:
            return MeasuredRow(device, failed=f"{folder} is mounted read-only")
        if free.f_bavail * free.f_frsize < _FREE * count:
            return MeasuredRow(device, failed=f"{folder} has no room for {_FREE * count} bytes")
        past_cache = _past_cache(folder)
        start = HostTimes.read()
        samples = blocks.measured(
            lambda: _file(folder, count, order.extra, past_cache=past_cache), order, time.monotonic
        )
        others = start.others_until(HostTimes.read())
    except OSError as error:
        return MeasuredRow(device, failed=f"{folder}: {error.strerror or error}")
    kind = f"{_kind(folder)}, {'past the page cache' if past_cache else 'synced'}"
    return MeasuredRow(device, samples, kind, others=others)


@contextlib.contextmanager
def _file(
    folder: Path, count: int, extra: float, *, past_cache: bool
) -> Generator[blocks.Piece, None, None]:
    """Give what writes the next piece of a new file, over what was written to it before."""
    # Opened without a name, or unlinked at once: nothing is left of it after a kill either.
    with tempfile.TemporaryFile(dir=folder) as file, host_buffers.buffer(_DATA) as whole:
        number, data = file.fileno(), whole[:_PIECE]
        if past_cache:
            fcntl.fcntl(number, fcntl.F_SETFL, fcntl.fcntl(number, fcntl.F_GETFL) | os.O_DIRECT)
        for place in range(0, count, _PIECE):
            os.pwrite(number, data, place)
        os.fsync(number)
        place = 0

        def once() -> float:
            nonlocal place
            before = time.monotonic()
            os.pwrite(number, data, place)
            if not past_cache:
                os.fdatasync(number)
            taken = time.monotonic() - before
            if extra:
                taken = _spent(before, taken * (1 + extra))
            place = (place + _PIECE) % count
            return _PIECE / max(taken, 1e-9)

        try:
            yield once
        finally:
            data.release()


def _spent(before: float, seconds: float) -> float:
    """Let so many seconds go by since `before`, more exactly than a sleep does; return them."""
    while (gone := time.monotonic() - before) < seconds:
        pass
    return gone


def _past_cache(folder: Path) -> bool:
    """Return whether files there take writes that no page cache holds: some refuse them."""
    try:
        with _file(folder, _PIECE, 0.0, past_cache=True) as once:
            once()
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


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
