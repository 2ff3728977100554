"""One core at work: hashing, in pieces of a few milliseconds."""

import hashlib
import time

from . import accelerators
from .rows import CheckOrder, MeasuredRow, repeated
from .time_shares import ProcessTimes, between

_PIECE = 1 << 20
_PIECES = 8


def hashing(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes hashed a second of the time that the core was there to be had.

    Time that others used while it waited is left out, time that a quota or the hypervisor kept is
    not: that is what this host gives to its processes.
    """
    data = bytes(_PIECE)
    pieces = max(1, round(_PIECES * order.fraction))
    extra = int(order.extra * _PIECE * pieces)

    def once() -> float:
        before = time.thread_time()
        for _ in range(pieces):
            hashlib.sha256(data).digest()
        for rest in range(extra, 0, -_PIECE):
            hashlib.sha256(data[:rest]).digest()
        return pieces * _PIECE / max(time.thread_time() - before, 1e-9)

    started = ProcessTimes.read()
    rates = repeated(once, seconds=order.seconds, now=time.monotonic)
    shares = between(started, ProcessTimes.read())
    given = 1 - shares.withheld / max(1 - shares.waited, 1e-9)
    row = MeasuredRow(
        "cpu",
        tuple(rate * given for rate in rates),
        accelerators.host_kind(),
        0.75,
        withheld=shares.withheld,
        waited=shares.waited,
    )
    return [row]
