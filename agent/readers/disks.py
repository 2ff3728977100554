"""Disks: how long each was busy."""

from pathlib import Path

import psutil

from ...vocabulary.samples import Sample, attributes

_VIRTUAL = ("loop", "ram", "zram")


class Disks:
    """Reads the kernel's counters of whole disks (partitions would count twice)."""

    name = "disks"

    def __init__(self, *, period: float) -> None:
        self.period = period

    def supported(self) -> tuple[bool, str]:
        """Tell whether there is a disk."""
        return (True, "") if self._busy() else (False, "no disk is visible here")

    def read(self, now: float) -> list[Sample]:
        """Return the seconds that each disk was busy since the host started."""
        return [
            Sample("system.disk.io_time", seconds, now, attributes({"device": device}))
            for device, seconds in self._busy()
        ]

    def _busy(self) -> list[tuple[str, float]]:
        counters = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
        return [
            (device, counter.busy_time / 1000)
            for device, counter in sorted(counters.items())
            if not device.startswith(_VIRTUAL) and _whole(device)
        ]


def _whole(device: str) -> bool:
    return Path("/sys/block", device).is_dir()
