"""One core at work: hashing, in pieces of about a millisecond."""

import hashlib
import time

from . import accelerators, blocks
from .rows import CheckOrder, MeasuredRow
from .time_shares import HostTimes, ProcessTimes, between

_PIECE = 1 << 20


def hashing(order: CheckOrder) -> list[MeasuredRow]:
    """Return bytes hashed a second of the time that the core was there to be had.

    Time that others used while it waited is left out, time that a quota or the hypervisor kept is
    not: that is what this host gives to its processes.
    """
    data = bytes(int(_PIECE * (1 + order.extra)))

    def once() -> float:
        before = time.thread_time()
        hashlib.sha256(data).digest()
        return _PIECE / max(time.thread_time() - before, 1e-9)

    host, started = HostTimes.read(), ProcessTimes.read()
    rates = blocks.measured(blocks.always(once), order, time.monotonic)
    shares = between(started, ProcessTimes.read())
    given = 1 - shares.withheld / max(1 - shares.waited, 1e-9)
    row = MeasuredRow(
        "cpu",
        tuple(rate * given for rate in rates),
        accelerators.host_kind(),
        withheld=shares.withheld,
        waited=shares.waited,
        others=host.others_beside(HostTimes.read()),
    )
    return [row]
