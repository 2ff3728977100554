"""The signatures of signatures.toml, and the quick question whether a line is worth a look."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from .. import needles
from . import bus, device_lines, stacks
from .reports import TEXT, LogFault

_NEEDLES = ("NVRM", "SXid", "oom-kill:", "Kill", " killed as ", "fallen off the bus")
"""What lines about devices and about processes killed for memory have (see parser)."""


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """One kind of line: `needle` is searched first, for it costs a hundredth of the pattern."""

    name: str
    role: Literal["root", "cascade", "confirmation"]
    needle: str
    pattern: DeferredPattern
    meaning: str
    pid: DeferredPattern | None = None
    ended: Literal["", "process"] = ""
    """Whether a process of the training came to its end with it."""

    def read(self, text: str) -> LogFault | None:
        """Return what a line reports, None where it is another."""
        return next((one.fault(found) for one, found in needles.matches([self], text)), None)

    def fault(self, found: re.Match[str]) -> LogFault:
        """Return what a line reports in which the pattern was found."""
        text, groups = found.string, found.groupdict()
        if self.pid is not None and (process := self.pid.search(text)):
            groups |= process.groupdict()
        pid = groups.get("pid") or ""
        return LogFault(
            signature=self.name,
            role=self.role,
            text=text[:TEXT],
            device=(groups.get("device") or "").rstrip(":."),
            pid=int(pid) if 0 < len(pid) < 10 else None,
            ended=self.ended,
        )


@cache
def catalogue() -> tuple[KernelSignature, ...]:
    """Return all signatures; the first that matches a line wins."""
    package = __package__ or ""
    return tuple(
        tables.packaged(
            KernelSignature,
            package,
            "signatures.toml",
            "signature",
            beside="version source",
            unique=False,
        )
    )


@cache
def texts() -> tuple[bytes, ...]:
    """Return the texts of which a telling line has at least one."""
    lines = (one.needle for one in device_lines.catalogue())
    every = dict.fromkeys(
        [*_NEEDLES, *bus.NEEDLES, *stacks.needles(), *lines, *(one.needle for one in catalogue())]
    )
    return tuple(one.encode() for one in every)


@cache
def _needles() -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, texts())))


def relevant(data: bytes) -> bool:
    """Return whether a raw line may report anything; most lines of a log cost no more than this."""
    return _needles().search(data) is not None


def read(text: str) -> LogFault | None:
    """Return what a line reports by signature, None when nothing."""
    every = needles.matches(catalogue(), text)
    return next((signature.fault(found) for signature, found in every), None)
