"""Filesystems: how full they are. Each one once, at the first place where it is mounted."""

import psutil

from ...vocabulary.samples import Sample, attributes

_MOST = 64
_WITHOUT_SPACE = frozenset({"squashfs", "erofs", "iso9660"})
"""Images: full by nature."""


class Filesystems:
    """Reads the mounts that have a device or a server behind them."""

    name = "filesystems"

    def __init__(self, *, period: float) -> None:
        self.period = period

    def supported(self) -> tuple[bool, str]:
        """Tell whether anything is mounted that has a size."""
        return (True, "") if _mounts() else (False, "no mount with a device is visible here")

    def read(self, now: float) -> list[Sample]:
        """Return the share of each filesystem that is in use, as the users of it see it.

        A server that does not answer makes this hang; the agent goes on without this reader.
        """
        samples = []
        for mountpoint in _mounts():
            try:
                usage = psutil.disk_usage(mountpoint)
            except OSError:
                continue  # unmounted meanwhile, or not ours to look at
            if usage.total:
                pairs = attributes({"mountpoint": mountpoint})
                samples.append(
                    Sample("system.filesystem.utilization", usage.percent / 100, now, pairs)
                )
        return samples


def _mounts() -> list[str]:
    found: dict[str, str] = {}
    for mount in psutil.disk_partitions(all=False):
        if mount.fstype not in _WITHOUT_SPACE:
            found.setdefault(mount.device, mount.mountpoint)
    return list(found.values())[:_MOST]
