"""Which hosts a batch came from, and when: by their own clocks, or by the one that scraped them.

That a host reports, and whose clock is off, is learnt from each owner for itself: the node's own
telemetry, and that of each job there. A job's is freed of the node's offset where the node reports
too, else of its own, so that nobody who may speak for one job moves the clock of another.
"""

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats
from .attempts import AttemptRegister
from .hosts import HostNumbers
from .placed import NODE
from .skew import MEMORY_SECONDS, HostClock
from .writing import distinct

_OWNERS = 1 << 32


class HostReports:
    """Takes which hosts reported, and frees times of their clocks' offsets. `at` are [points]."""

    def __init__(self, known: HostNumbers, attempts: AttemptRegister) -> None:
        self._known = known
        self._attempts = attempts

    def reported(
        self, hosts: NDArray[np.int32], owners: NDArray[np.int32], at: Floats, now: float
    ) -> Floats:
        """Return `at` freed of offsets; `owners`: numbers of attempts, NODE. All [points]."""
        several = distinct(owners)
        if hosts[0] == hosts[-1] and (hosts == hosts[0]).all():
            host = int(hosts[0])
            if len(several) == 1:
                return self.of_host(host, several[0], at, now)[0]
            freed = at
            for owner in several:  # the node first: its clock is that of its jobs
                mine = owners == owner
                if offset := self._offset(host, owner, _middle(at[mine]), now):
                    freed = freed - offset * mine
            return freed
        keys = _keys(hosts, owners)
        order = np.lexsort((at, keys))
        in_order = keys[order]
        edges = np.append(0, np.flatnonzero(in_order[1:] != in_order[:-1]) + 1)
        ends = np.append(edges[1:], len(order))
        offsets = [
            self._offset(host, owner, middle, now)
            for host, owner, middle in zip(
                hosts[order[edges]].tolist(),
                owners[order[edges]].tolist(),
                at[order[(edges + ends - 1) // 2]].tolist(),
                strict=True,
            )
        ]
        if not any(offsets):
            return at
        freed = at.copy()
        freed[order] -= np.repeat(offsets, ends - edges)
        return freed

    def of_host(self, host: int, owner: int, at: Floats, now: float) -> tuple[Floats, float, float]:
        """Do what `reported` does for points of one host and one owner; and first and last of them.

        A host mostly reports what it read at one time.
        """
        first, last = float(np.minimum.reduce(at)), float(np.maximum.reduce(at))
        offset = self._offset(host, owner, first if first == last else _middle(at), now)
        if offset:
            return at - offset, first - offset, last - offset
        return at, first, last

    def scraped(
        self, hosts: NDArray[np.int32], owners: NDArray[np.int32], at: Floats, now: float
    ) -> Floats:
        """Note which hosts were read, and when; return `at`. All [points].

        The times are those of who read them: a host's own clock is not in them, and what was read
        long ago does not say that it still answers. All of it comes later than it was read: a host
        counts as received as long ago as its newest reading is older than the newest of any host.
        """
        known = self._known
        known.scraped_until = max(known.scraped_until, min(float(at.max()), now))
        numbers, which = np.unique(_keys(hosts, owners), return_inverse=True)
        newest = np.full(len(numbers), -np.inf)
        np.maximum.at(newest, which, at)
        for number, read_at in zip(numbers.tolist(), newest.tolist(), strict=True):
            behind = max(known.scraped_until - read_at, 0.0)
            host, owner = divmod(number + 1, _OWNERS)
            known.arrived[host] = max(known.arrived.item(host), now)
            self._note(host, owner - 1, now - behind)
        return at

    def offset(self, host: int, owner: int, now: float) -> float:
        """Return how far ahead the times are that an owner gives on a host, in seconds."""
        if owner == NODE or self._node_reports(host, now):
            return self._known.offset.item(host)
        attempt = self._attempts.numbered[owner]
        clock = None if attempt is None else attempt.clocks.get(self._known.names[host])
        return 0.0 if clock is None else clock.offset

    def _offset(self, host: int, owner: int, middle: float, now: float) -> float:
        """Note that an owner reported from a host, points of about `middle`; return its offset."""
        known = self._known
        if owner == NODE:
            offset = known.clocks[host].update(middle, now)
            known.offset[host] = offset
            known.of_node(host, now)
        elif self._node_reports(host, now):
            offset = known.offset.item(host)
        else:
            attempt, name = self._attempts.numbered[owner], known.names[host]
            assert attempt is not None  # noqa: S101  its series are placed
            clock = attempt.clocks.get(name)
            if clock is None:
                clock = attempt.clocks[name] = HostClock()
            offset = clock.update(middle, now)
        self.received(host, owner, now)
        return offset

    def received(self, host: int, owner: int, now: float) -> None:
        known = self._known
        if now > known.arrived.item(host):
            known.arrived[host] = now
        self._note(host, owner, now)

    def _note(self, host: int, owner: int, at: float) -> None:
        if owner == NODE:
            self._known.reports.received(host, at)
        elif (attempt := self._attempts.numbered[owner]) is not None:
            attempt.reports.received(self._known.names[host], at)

    def _node_reports(self, host: int, now: float) -> bool:
        return now - self._known.node_received.item(host) <= MEMORY_SECONDS


def _keys(hosts: NDArray[np.int32], owners: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return one number for a host and an owner: the node (-1) is the first of a host's."""
    keys: NDArray[np.int64] = hosts.astype(np.int64) * _OWNERS + owners
    return keys


def _middle(at: Floats) -> float:
    first = at.item(0)
    return first if (at == first).all() else np.sort(at).item((len(at) - 1) // 2)
