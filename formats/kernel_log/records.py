r"""Lines of the kernel log as /dev/kmsg, dmesg and the journal write them.

A record of /dev/kmsg is "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT", followed by lines that
begin with a space and hold "KEY=value"; what is not printable is written as \xNN.
Source: Linux, Documentation/ABI/testing/dev-kmsg.
"""

import re
from dataclasses import dataclass
from datetime import tzinfo

from . import exports, forms
from .forms import YearlessTime

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One line of the log, without what stands before it.

    `uptime` is seconds on the kernel's log clock (0 = boot), `at` seconds since the epoch where
    the line says so itself; None: it does not. `sequence` counts records of one boot. `host` is
    that of the line, "" where it names none; `since` seconds since the line above; `yearless` its
    time where the year is missing; `kernels`: only lines of a kernel's log begin so.
    """

    text: str
    uptime: float | None = None
    at: float | None = None
    sequence: int | None = None
    priority: int | None = None
    host: str = ""
    since: float | None = None
    yearless: YearlessTime | None = None
    kernels: bool = False

    @property
    def headed(self) -> bool:
        """Return whether anything stood before the text."""
        told = (self.at, self.uptime, self.since, self.yearless)
        return self.kernels or any(one is not None for one in told)


def record(data: bytes) -> KernelRecord | None:
    """Read one record of /dev/kmsg; None where it is none."""
    head, semicolon, rest = data.partition(b";")
    fields = head.split(b",", 3)
    if not semicolon or len(fields) < 3:
        return None
    priority, sequence, microseconds = fields[:3]
    if not (priority.isdigit() and sequence.isdigit() and microseconds.isdigit()):
        return None
    if len(priority) > 8 or len(sequence) > 20 or len(microseconds) > 20:
        return None
    text = rest.partition(b"\n")[0]
    return KernelRecord(
        text=unescaped(text),
        uptime=int(microseconds) / 1e6,
        sequence=int(sequence),
        priority=int(priority) & 7,
    )


def unescaped(text: bytes) -> str:
    r"""Return a text with \xNN read; bytes that are no UTF-8 are replaced."""
    if b"\\x" in text:
        text = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text)
    return text.decode("utf-8", "replace")


def line(text: str, zone: tzinfo | None = None, near: float | None = None) -> KernelRecord:
    """Read a line of dmesg, the journal or a syslog in any form; any other line is its own text.

    `zone` is that of times without one, None: the machine's. `near` gives times without a year
    theirs: the latest that is not after it. Without it such a time is in `yearless` alone.
    """
    text = text.rstrip("\r\n")
    exported = exports.read(text, zone) if "{" in text else None
    head, rest = exported or forms.read(text, zone)
    at = head.at
    if at is None and head.yearless is not None and near is not None:
        at = head.yearless.epoch(near, zone)
    return KernelRecord(
        rest,
        uptime=head.uptime,
        at=at,
        priority=head.priority,
        host=head.host,
        since=head.since,
        yearless=head.yearless if at is None else None,
        kernels=head.kernels,
    )
