"""Which hosts a batch came from, and when: by their own clocks, or by the one that scraped them."""

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats
from .hosts import HostNumbers


def reported(known: HostNumbers, hosts: NDArray[np.int32], at: Floats, now: float) -> Floats:
    """Note which hosts reported; return `at` freed of their clocks' offsets. All [points]."""
    if hosts[0] == hosts[-1] and (hosts == hosts[0]).all():
        return of_host(known, int(hosts[0]), at, now)
    order = np.lexsort((at, hosts))
    sorted_hosts = hosts[order]
    edges = np.append(0, np.flatnonzero(sorted_hosts[1:] != sorted_hosts[:-1]) + 1)
    middles = order[(edges + np.append(edges[1:], len(order)) - 1) // 2]
    off = False
    for number, middle in zip(hosts[order[edges]].tolist(), at[middles].tolist(), strict=True):
        off |= bool(_offset(known, number, middle, now))
    return at - known.offset[hosts] if off else at


def of_host(known: HostNumbers, number: int, at: Floats, now: float) -> Floats:
    """Do what `reported` does for points of one host."""
    first = at.item(0)
    if (at == first).all():
        return at - _offset(known, number, first, now)
    offset = _offset(known, number, np.sort(at).item((len(at) - 1) // 2), now)
    return at - offset if offset else at


def scraped(known: HostNumbers, hosts: NDArray[np.int32], at: Floats, now: float) -> Floats:
    """Note which hosts were read, and when; return `at`. All [points].

    The times are those of who read them: a host's own clock is not in them, and what was read long
    ago does not say that it still answers. All of it comes later than it was read: a host counts as
    received as long ago as its newest reading is older than the newest of any host.
    """
    known.scraped_until = max(known.scraped_until, min(float(at.max()), now))
    newest = np.full(int(hosts.max(initial=0)) + 1, -np.inf)
    np.maximum.at(newest, hosts, at)
    for number in np.flatnonzero(newest > -np.inf).tolist():
        behind = max(known.scraped_until - float(newest[number]), 0.0)
        known.received(number, now, read_at=now - behind)
    return at


def _offset(known: HostNumbers, number: int, middle: float, now: float) -> float:
    """Note that a host reported, points of about `middle`; return how far its clock is off."""
    offset = known.clocks[number].update(middle, now)
    known.offset[number] = offset
    known.received(number, now)
    return offset
