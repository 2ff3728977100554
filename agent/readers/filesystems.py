"""Filesystems: how full they are, in bytes and inodes, and whether they may be written.

Each one once, at the first place where it is mounted.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_MOST = 64
_WITHOUT_SPACE = frozenset({"squashfs", "erofs", "iso9660"})
"""Images: full by nature."""
_OCTAL = re.compile(r"\\([0-7]{3})")


class FilesystemReader:
    """Reads the mounts that have a device or a server behind them."""

    name = "filesystems"

    def __init__(self, *, period: float, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._proc = proc

    def supported(self) -> tuple[bool, str]:
        """Return whether anything is mounted that has a size."""
        return (True, "") if self._mounts() else (False, "no mount with a device is visible here")

    def read(self, now: float) -> list[Sample]:
        """Return the shares of each filesystem in use, as its ordinary users see it.

        A server that does not answer makes this hang; the agent goes on without this reader.
        """
        samples: list[Sample] = []
        for mount in self._mounts():
            mountpoint = mount.mountpoint
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
            read_only = float(bool(status.f_flag & os.ST_RDONLY) and not mount.writable)
            samples += [
                Sample("system.filesystem.utilization", used / room, now, pairs),
                Sample("system.filesystem.read_only", read_only, now, pairs),
            ]
            if status.f_files > 0:  # btrfs and some servers have no fixed number of inodes
                share = (status.f_files - status.f_ffree) / status.f_files
                samples.append(Sample("system.filesystem.inodes.utilization", share, now, pairs))
        return samples

    def _mounts(self) -> list["_FilesystemMount"]:
        """Return the first mount of each filesystem."""
        kinds = frozenset(_with_devices(procfs.read(f"{self._proc}/filesystems") or ""))
        found: dict[str, _FilesystemMount] = {}
        for line in (procfs.read(f"{self._proc}/self/mountinfo") or "").splitlines():
            place, _, filesystem = line.partition(" - ")
            kind, source, options = filesystem.split(" ", 2)
            if kind in kinds and source not in ("", "none") and source not in found:
                found[source] = _FilesystemMount(
                    _unescaped(place.split(" ")[4]), writable="rw" in options.split(",")
                )
        return list(found.values())[:_MOST]


@dataclass(frozen=True, slots=True)
class _FilesystemMount:
    """Where a filesystem is mounted; `writable`: it is itself, whatever holds of this mount."""

    mountpoint: str
    writable: bool


def _with_devices(filesystems: str) -> Iterator[str]:
    """Yield the kinds of filesystems that are looked at: those on devices, and ZFS."""
    for line in filesystems.splitlines():
        flag, _, kind = line.partition("\t")
        if (flag != "nodev" or kind == "zfs") and kind not in _WITHOUT_SPACE:
            yield kind


def _unescaped(text: str) -> str:
    """Return a name as it is: the kernel writes blanks and backslashes as octal numbers."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), text)
