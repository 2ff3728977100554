"""What the kernel wrote within the last half hour of devices and of processes that it ended.

Read from the kernel's own buffer, which needs the right to. Whoever cannot read it knows nothing,
and says so; an agent that can has reported these lines already.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from .rows import CheckOrder, MeasuredRow

_SECONDS = 1800.0
_MOST = 1 << 20
_RECORD = 1 << 13
_BUFFER = Path("/dev/kmsg")
_LINES: Mapping[str, re.Pattern[str]] = {
    # Xid 119 and 120: the system processor of a device does not answer, or has ended.
    "kernel_firmware": re.compile(
        r"NVRM: Xid \(.*\): (?:119|120)\b|NVRM: .*GSP.*(?:timeout|timed out)"
    ),
    # Xid 79: the device has fallen off the bus.
    "kernel_lost": re.compile(r"NVRM: Xid \(.*\): 79\b|GPU .*has fallen off the bus"),
}

Read = Callable[[], Iterator[str]]


def firmware(order: CheckOrder, *, read: Read | None = None) -> list[MeasuredRow]:
    """Return how many lines say that the processor of a device stopped answering."""
    return _counted("kernel_firmware", order, read)


def lost(order: CheckOrder, *, read: Read | None = None) -> list[MeasuredRow]:
    """Return how many lines say that a device fell off the bus."""
    return _counted("kernel_lost", order, read)


def _counted(name: str, order: CheckOrder, read: Read | None) -> list[MeasuredRow]:
    del order
    try:
        lines = list((read or records)())
    except OSError as error:
        return [MeasuredRow("kernel", missing=f"{_BUFFER}: {error.strerror or error}")]
    since = time.clock_gettime(time.CLOCK_MONOTONIC) - _SECONDS
    found = [text for at, text in map(_parted, lines) if at >= since and _LINES[name].search(text)]
    if found:
        return [MeasuredRow("kernel", failed=f"{len(found)} lines, the last: {found[-1]}"[:200])]
    return [MeasuredRow("kernel", (0.0,))]


def records() -> Iterator[str]:
    """Yield the records that the kernel still has, oldest first. Raises OSError."""
    number = os.open(_BUFFER, os.O_RDONLY | os.O_NONBLOCK)
    try:
        left = _MOST
        while left > 0:
            try:
                data = os.read(number, _RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue  # overwritten while it was read: the next one is there
            left -= len(data)
            yield data.decode("utf-8", "replace")
    finally:
        os.close(number)


def _parted(record: str) -> tuple[float, str]:
    """Return when a record was written, seconds since the start of the machine, and its text."""
    head, _, text = record.partition(";")
    cells = head.split(",")
    micros = cells[2] if len(cells) > 2 and cells[2].isdigit() else "0"
    return int(micros) / 1e6, text.partition("\n")[0]
