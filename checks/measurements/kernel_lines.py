"""What the kernel wrote of devices within the last half hour.

Read from the kernel's own buffer, which needs the right to. Whoever cannot read it knows nothing,
and says so; an agent that can has reported these lines already.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from .rows import CheckOrder, MeasuredRow

_SECONDS = 1800.0
_MOST = 1 << 20
_RECORD = 1 << 13
_BUFFER = Path("/dev/kmsg")
_FIRMWARE = re.compile(r"NVRM: Xid \(.*\): (?:119|120)\b|NVRM: .*GSP.*(?:timeout|timed out)")
"""XID 119 and 120: the system processor of a device does not answer, or has ended."""
_LOST = re.compile(r"NVRM: Xid \(.*\): 79\b|GPU .*has fallen off the bus")

Read = Callable[[], Iterator[bytes]]
"""Yields records as /dev/kmsg has them; raises OSError."""


def firmware(order: CheckOrder, *, read: Read | None = None) -> list[MeasuredRow]:
    """Return how many lines say that the processor of a device stopped answering."""
    return _counted(_FIRMWARE, order, read)


def lost(order: CheckOrder, *, read: Read | None = None) -> list[MeasuredRow]:
    """Return how many lines say that a device fell off the bus."""
    return _counted(_LOST, order, read)


def _counted(wanted: re.Pattern[str], order: CheckOrder, read: Read | None) -> list[MeasuredRow]:
    from ...formats import kernel_log  # noqa: PLC0415  most checks read no kernel log

    del order
    try:
        found = [kernel_log.record(data) for data in (read or records)()]
    except OSError as error:
        return [MeasuredRow("kernel", missing=f"{_BUFFER}: {error.strerror or error}")]
    since = time.clock_gettime(time.CLOCK_MONOTONIC) - _SECONDS
    lines = [
        one.text
        for one in found
        if one is not None and (one.uptime or 0.0) >= since and wanted.search(one.text)
    ]
    if lines:
        return [MeasuredRow("kernel", failed=f"{len(lines)} lines, the last: {lines[-1]}"[:200])]
    return [MeasuredRow("kernel", (0.0,))]


def records() -> Iterator[bytes]:
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
            yield data
    finally:
        os.close(number)
