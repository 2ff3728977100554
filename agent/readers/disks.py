"""Disks: how long each was busy, and the bytes that went there and back."""

from pathlib import Path
from typing import Any

import psutil

from ...vocabulary.samples import Sample, attributes

_VIRTUAL = ("loop", "ram", "zram")


class DiskReader:
    """Reads the kernel's counters of whole disks (partitions would count twice)."""

    name = "disks"

    def __init__(self, *, period: float) -> None:
        self.period = period

    def supported(self) -> tuple[bool, str]:
        """Return whether there is a disk."""
        return (True, "") if _counters() else (False, "no disk is visible here")

    def read(self, now: float) -> list[Sample]:
        """Return seconds busy and bytes moved since the host started."""
        samples: list[Sample] = []
        for device, counter in sorted(_counters().items()):
            busy = attributes({"device": device})
            samples.append(Sample("system.disk.io_time", counter.busy_time / 1000, now, busy))
            for direction, moved in (("read", counter.read_bytes), ("write", counter.write_bytes)):
                pairs = attributes({"device": device, "direction": direction})
                samples.append(Sample("system.disk.io", float(moved), now, pairs))
        return samples


def _counters() -> dict[str, Any]:
    counters = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
    return {
        device: counter
        for device, counter in counters.items()
        if not device.startswith(_VIRTUAL) and _whole(device)
    }


def _whole(device: str) -> bool:
    return Path("/sys/block", device).is_dir()
