"""The lines of device_lines.toml: a device failed, in the words of its driver."""

import re
from dataclasses import dataclass
from functools import cache

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from .devices import normal
from .reports import TEXT, DeviceFault


@dataclass(frozen=True, slots=True)
class DriverLine:
    """One kind of line. `follows`: near another fault it is what came of that one."""

    code: str
    vendor: str
    needle: str
    pattern: DeferredPattern
    follows: bool = False

    def read(self, text: str) -> DeviceFault | None:
        """Return what a line reports, None where it is another."""
        if self.needle not in text:
            return None
        found = self.pattern.search(text)
        if found is None:
            return None
        groups = found.groupdict()
        pid = groups.get("pid") or ""
        pci = (groups.get("pci") or "").rstrip(".:")
        return DeviceFault(
            code=self.code,
            pci=normal(pci) if pci.count(":") in (1, 2) else "",
            text=text[:TEXT],
            vendor=self.vendor,
            device=groups.get("device") or "",
            pid=int(pid) if 0 < len(pid) < 10 and int(pid) else None,
            process=groups.get("process") or "",
        )


@cache
def catalogue() -> tuple[DriverLine, ...]:
    """Return all kinds of lines; the first that matches wins."""
    package = __package__ or ""
    return tuple(
        tables.packaged(
            DriverLine,
            package,
            "device_lines.toml",
            "line",
            beside="version source",
            unique=False,
        )
    )


@cache
def marks() -> re.Pattern[str]:
    """Return a pattern of every text of which such a line has at least one."""
    needles = dict.fromkeys(one.needle for one in catalogue())
    return re.compile("|".join(re.escape(one) for one in needles))


def read(text: str) -> tuple[DriverLine, DeviceFault] | None:
    """Return what a line reports, and its kind; None where it is of none."""
    if marks().search(text) is None:
        return None
    for kind in catalogue():
        fault = kind.read(text)
        if fault is not None:
            return kind, fault
    return None
