"""Where and how strongly a fault strikes, and what several faults do."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ..clusters import SimulatedCluster
from ..devices import DeviceState
from ..hosts import HostState
from ..ranks import RankProcess
from ..recording import PointScalar

OTHERS_END_SECONDS = 25.0


@dataclass(slots=True)
class FaultScene:
    """Where and how strongly a fault strikes; and the truth about it. `onset`: simulated s."""

    cluster: SimulatedCluster
    rng: Random
    weak: bool
    onset: float
    rank: int
    entity: dict[str, Any] = field(default_factory=dict)
    ranks: list[int] = field(default_factory=list)
    also: list[list[str]] = field(default_factory=list)

    @property
    def host(self) -> HostState:
        return self.cluster.hosts[self.rank // self.cluster.plan.per_host]

    @property
    def device(self) -> DeviceState:
        return self.host.devices[self.rank % self.cluster.plan.per_host]

    def process(self) -> RankProcess:
        """Return the rank struck; only once the job has started."""
        return self.cluster.ranks[self.rank]

    def amount(self, plain: float, weak: float) -> float:
        return (weak if self.weak else plain) * self.rng.uniform(0.9, 1.1)

    def at(self, action: Callable[[], None], later: float = 0.0) -> None:
        self.cluster.loop.call(self.onset + later, action)

    def every(self, seconds: float, action: Callable[[], None]) -> None:
        """Repeat from the onset to the end."""

        def repeat() -> None:
            action()
            self.cluster.loop.call(self.cluster.loop.now + seconds, repeat)

        self.at(repeat)

    def at_gpu(self) -> None:
        self._about("gpu", self.device.uuid, [self.rank])

    def at_host(self) -> None:
        first = self.rank // self.cluster.plan.per_host * self.cluster.plan.per_host
        self._about("host", self.host.name, list(range(first, first + self.cluster.plan.per_host)))

    def at_rank(self) -> None:
        self._about("rank", str(self.rank), [self.rank])

    def at_job(self, kind: str = "job") -> None:
        self.ranks = list(range(self.cluster.plan.ranks))
        self.entity = {"type": kind, "id": self.cluster.recorder.job, "host": None}

    def at_nic(self) -> None:
        self.at_host()
        self.entity |= {"type": "nic", "id": f"{self.host.name}/{self.host.ports[-1].device}:1"}

    def at_process(self, pid: int) -> None:
        self._about("process", f"{self.host.name}:{pid}", [self.rank])

    def _about(self, kind: str, name: str, ranks: list[int]) -> None:
        self.entity = {"type": kind, "id": name, "host": self.host.name}
        self.ranks = ranks

    def xid(self, code: int, text: str) -> None:
        pid = self.process().pid
        line = f"NVRM: Xid (PCI:0000:{0x10 + self.device.index:02x}:00): {code}, pid={pid}, {text}"
        named: dict[str, PointScalar] = {"hw.id": self.device.uuid, "code": code}
        self.cluster.event(self.host, "gpu.fault", named | {"vendor": "nvidia", "text": line})

    def crash(self, signature: str, text: str, code: int, signal: int) -> None:
        """End the rank with a line in its log; the launcher ends the others later."""
        if signature:
            self.process().log(signature, text)
        self.process().end(code, signal)
        later = self.cluster.loop.now + OTHERS_END_SECONDS
        self.cluster.loop.call(later, lambda: self.cluster.end_all(15, 3.0))


def set_later(scene: FaultScene, what: object, **values: object) -> None:
    def change() -> None:
        for name, value in values.items():
            setattr(what, name, value)

    scene.at(change)


def let_leak(scene: FaultScene, **rates: float) -> None:
    one = scene.process()
    one.leak_since = scene.cluster.loop.now
    for name, rate in rates.items():
        setattr(one, name, rate)


def count(counts: dict[str, float], name: str, more: float) -> None:
    counts[name] = counts.get(name, 0.0) + round(more)


def about_group(scene: FaultScene, kind: str, rank: int) -> None:
    group = scene.process().job.groups[kind][rank]
    scene.entity = {"type": "group", "id": group.name, "host": None}
    scene.ranks = list(group.ranks)
