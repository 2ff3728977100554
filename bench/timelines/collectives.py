"""Collectives: an operation ends when its last member has arrived and the transfer is done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from zlib import crc32

from .event_loop import EventLoop, WaitSignal
from .hosts import HostState


@dataclass(slots=True)
class CollectiveOp:
    """One operation of a group. Arrivals by rank, in seconds of simulated time."""

    seq: int
    size: float
    done: WaitSignal = field(default_factory=WaitSignal)
    arrived: dict[int, float] = field(default_factory=dict)
    began: float = 0.0
    ended: float = 0.0


class CollectiveGroup:
    """Ranks that run the same sequence of operations, one after another."""

    def __init__(
        self,
        loop: EventLoop,
        kind: str,
        op: str,
        ranks: Sequence[int],
        hosts: Sequence[HostState],
        *,
        seconds: float,
        size: float,
        sigma: float,
        rng: Random,
    ) -> None:
        self.loop, self.kind, self.op, self.ranks = loop, kind, op, tuple(ranks)
        self.hosts, self.seconds, self.size, self.rng = list(hosts), seconds, size, rng
        self.sigma = sigma
        self.desc = f"{kind.upper()}_PARALLEL_GROUP"
        self.name = f"{kind}:{crc32(f'{self.ranks}{self.desc}'.encode()):08x}"
        self.spans = len({host.name for host in hosts}) > 1
        self.slow = 1.0
        self.enqueued = dict.fromkeys(self.ranks, 0)
        self.completed = dict.fromkeys(self.ranks, 0)
        self.recent: dict[int, list[float]] = {rank: [] for rank in self.ranks}
        self.bandwidths: list[float] = []
        self.sample: dict[int, tuple[int, float, float]] = {}
        self._ops: dict[int, CollectiveOp] = {}
        self._free_at = 0.0

    def enter(self, rank: int) -> CollectiveOp:
        """Let a rank arrive at its next operation; the rank waits for `done` when it needs it."""
        self.enqueued[rank] += 1
        seq = self.enqueued[rank]
        op = self._ops.setdefault(seq, CollectiveOp(seq, self.size))
        op.arrived[rank] = self.loop.now
        if len(op.arrived) == len(self.ranks):
            op.began = max(self.loop.now, self._free_at)
            op.ended = self._free_at = op.began + self.transfer_seconds()
            self.loop.call(op.ended, lambda: self._end(op))
        return op

    def transfer_seconds(self) -> float:
        """Return what a transfer takes now: as long as its worst member's links."""
        if self.spans:
            worst = max(host.network_slow() for host in self.hosts)
        else:
            worst = max(one.nvlink_slow for host in self.hosts for one in host.devices)
        return self.seconds * worst * self.slow * self.rng.lognormvariate(0.0, self.sigma)

    def _end(self, op: CollectiveOp) -> None:
        del self._ops[op.seq]
        took = max(1e-6, op.ended - op.began)
        self.bandwidths.append(op.size / took)
        for rank, at in op.arrived.items():
            self.completed[rank] = op.seq
            self.recent[rank].append(op.ended - at)
            self.sample[rank] = (op.seq, op.ended - at, op.ended)
        if self.spans:
            share = op.size / len(self.hosts[0].ports)
            for host in {id(one): one for one in self.hosts}.values():
                for port in host.ports:
                    if port.up:
                        port.sent += share
                        port.received += share
        self.loop.fire(op.done)
