r"""Lines of the kernel log as /dev/kmsg, dmesg and the journal write them.

A record of /dev/kmsg is "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT", followed by lines that
begin with a space and hold "KEY=value"; what is not printable is written as \xNN.
Source: Linux, Documentation/ABI/testing/dev-kmsg.
"""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")
_DMESG = re.compile(r"^(?:<(\d{1,3})>)?\[\s*(\d{1,12}\.\d{1,9})\] ?(.*)$", re.DOTALL)
_DMESG_TIME = re.compile(r"^\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ?(.*)$", re.DOTALL)
_ISO = re.compile(
    r"^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) (?:\S+ )?"
    r"kernel: (.*)$",
    re.DOTALL,
)
_SYSLOG = re.compile(r"^\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ kernel: (.*)$", re.DOTALL)
_UPTIME = re.compile(r"^\[\s*(\d{1,12}\.\d{1,9})\] ?")


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One line of the log, without what stands before it.

    `uptime` is seconds on the kernel's log clock (0 = boot), `at` seconds since the epoch where
    the line says so itself; None: it does not. `sequence` counts records of one boot.
    """

    text: str
    uptime: float | None = None
    at: float | None = None
    sequence: int | None = None
    priority: int | None = None


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


def line(text: str, zone: tzinfo | None = None) -> KernelRecord:
    """Read a line of dmesg, `dmesg -T` or the journal; any other line is its own text.

    `zone` is that of times without one, None: the machine's.
    """
    text = text.rstrip("\r\n")
    if found := _DMESG.match(text):
        priority = int(found[1]) & 7 if found[1] else None
        return KernelRecord(found[3], uptime=float(found[2]), priority=priority)
    if found := _DMESG_TIME.match(text):
        return KernelRecord(found[2], at=_local(found[1], zone))
    if found := _ISO.match(text):
        return _after_kernel(found[2], _iso(found[1]))
    if found := _SYSLOG.match(text):  # without a year: when it was, others must know
        return _after_kernel(found[1], None)
    return KernelRecord(text)


def _after_kernel(text: str, at: float | None) -> KernelRecord:
    """Read what follows "kernel:", where some journals repeat the time since boot."""
    found = _UPTIME.match(text)
    if found is None:
        return KernelRecord(text, at=at)
    return KernelRecord(text[found.end() :], uptime=float(found[1]), at=at)


def _local(text: str, zone: tzinfo | None) -> float | None:
    try:
        read = datetime.strptime(text, "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007  the zone follows
        return read.replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _iso(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text.replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
