"""Pressure: how much of the time tasks waited for CPU, memory or storage (PSI of the kernel)."""

import os
from pathlib import Path

from ...vocabulary.samples import Sample, attributes
from .. import procfs

_RESOURCES = ("cpu", "memory", "io")


class PressureReader:
    """Reads /proc/pressure, which the whole host shares, containers too."""

    name = "pressure"

    def __init__(self, *, period: float, proc: Path = procfs.PROC) -> None:
        self.period = period
        self._folder = f"{proc}/pressure"

    def supported(self) -> tuple[bool, str]:
        """Return whether the kernel keeps it."""
        if os.access(f"{self._folder}/cpu", os.R_OK) and self.read(0.0):
            return True, ""
        return False, f"{self._folder} cannot be read: the kernel needs CONFIG_PSI and maybe psi=1"

    def read(self, now: float) -> list[Sample]:
        """Return the share of the last 10 s and the time in all, of some tasks and of all tasks."""
        samples: list[Sample] = []
        for resource in _RESOURCES:
            for line in _lines(f"{self._folder}/{resource}"):
                kind, *fields = line.split()
                found: dict[str, str] = {}
                for field in fields:
                    name, _, value = field.partition("=")
                    found[name] = value
                if "avg10" not in found or "total" not in found:
                    continue
                if (resource, kind) == ("cpu", "full"):
                    continue  # of a whole host it means nothing: somebody always runs
                pairs = attributes({"resource": resource, "kind": kind})
                share, microseconds = float(found["avg10"]) / 100, int(found["total"])
                samples += [
                    Sample("system.pressure", share, now, pairs),
                    Sample("system.pressure.time", microseconds / 1e6, now, pairs),
                ]
        return samples


def _lines(path: str) -> list[str]:
    try:
        return (procfs.read(path) or "").splitlines()
    except OSError:
        return []  # the file is there, but psi=0: EOPNOTSUPP
