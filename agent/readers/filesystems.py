"""Filesystems: how full they are, in bytes and inodes, and whether they may be written.

Each one once, at the first place where it is mounted.
"""

import os

import psutil

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_MOST = 64
_WITHOUT_SPACE = frozenset({"squashfs", "erofs", "iso9660"})
"""Images: full by nature."""


class FilesystemReader:
    """Reads the mounts that have a device or a server behind them."""

    name = "filesystems"

    def __init__(self, *, period: float) -> None:
        self.period = period

    def supported(self) -> tuple[bool, str]:
        """Return whether anything is mounted that has a size."""
        return (True, "") if _mounts() else (False, "no mount with a device is visible here")

    def read(self, now: float) -> list[Sample]:
        """Return the shares of each filesystem in use, as its ordinary users see it.

        A server that does not answer makes this hang; the agent goes on without this reader.
        """
        samples: list[Sample] = []
        writable = _writable(procfs.read("/proc/self/mountinfo") or "")
        for mountpoint in _mounts():
            try:
                status = os.statvfs(mountpoint)
            except OSError:
                continue  # unmounted meanwhile, or not ours to look at
            used = status.f_blocks - status.f_bfree
            room = used + status.f_bavail  # without what is reserved for root
            if room <= 0:
                continue
            pairs = attributes({"mountpoint": mountpoint})
            # A container's mount may be read-only where the filesystem is not.
            read_only = float(bool(status.f_flag & os.ST_RDONLY) and mountpoint not in writable)
            samples += [
                Sample("system.filesystem.utilization", used / room, now, pairs),
                Sample("system.filesystem.read_only", read_only, now, pairs),
            ]
            if status.f_files > 0:  # btrfs and some servers have no fixed number of inodes
                share = (status.f_files - status.f_ffree) / status.f_files
                samples.append(Sample("system.filesystem.inodes.utilization", share, now, pairs))
        return samples


def _mounts() -> list[str]:
    found: dict[str, str] = {}
    for mount in psutil.disk_partitions(all=False):
        if mount.fstype not in _WITHOUT_SPACE:
            found.setdefault(mount.device, mount.mountpoint)
    return list(found.values())[:_MOST]


def _writable(mountinfo: str) -> set[str]:
    """Return the mountpoints whose filesystem itself is mounted for writing."""
    found = set()
    for line in mountinfo.splitlines():
        place, _, filesystem = line.partition(" - ")
        if "rw" in filesystem.split(" ")[-1].split(","):
            found.add(place.split(" ")[4])
    return found
