"""The layout of a simulated job: hosts, devices, ports, switches, ranks and their groups."""

import hashlib
import uuid
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, slots=True)
class HostPlace:
    """A host: its leaf switch, its device ids by index, and its ports (one for two devices)."""

    name: str
    switch: str
    gpus: tuple[str, ...]
    nics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where a rank runs, and its coordinates."""

    rank: int
    local: int
    host: int
    gpu: str
    pid: int
    dp: int
    tp: int
    pp: int


@dataclass(frozen=True, slots=True)
class GroupPlace:
    """A communication group; `per_step`: collectives of it in one step."""

    name: str
    kind: str
    ranks: tuple[int, ...]
    per_step: int


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The job's hosts and ranks."""

    job: str
    hosts: tuple[HostPlace, ...]
    ranks: tuple[RankPlace, ...]
    groups: tuple[GroupPlace, ...]
    stages: int

    def on_host(self, host: int) -> np.ndarray:
        """Return the ranks of a host."""
        return np.array([one.rank for one in self.ranks if one.host == host])

    def of_group(self, kind: str, rank: int) -> GroupPlace:
        """Return the group of that kind in which a rank is; raises StopIteration for none."""
        return next(one for one in self.groups if one.kind == kind and rank in one.ranks)

    def nic_of(self, rank: int) -> str:
        """Return the port that a rank uses."""
        place = self.ranks[rank]
        return self.hosts[place.host].nics[place.local // 2]

    def host_of(self, rank: int) -> str:
        """Return the name of a rank's host."""
        return self.hosts[self.ranks[rank].host].name


def laid_out(
    rng: np.random.Generator, world: int, per_host: int, *, experts: bool, staged: bool
) -> ClusterLayout:
    """Place a job of `world` ranks on hosts of `per_host` devices."""
    count = world // per_host
    rack = int(rng.integers(2, 40))
    per_switch = int(rng.choice([2, 4, 8]))
    hosts = tuple(
        HostPlace(
            name=f"gpu-r{rack + index // 4:02d}-n{index % 4:02d}",
            switch=f"leaf-{rack // 4 + index // per_switch:02d}",
            gpus=tuple(_uuid(rng) for _ in range(per_host)),
            nics=tuple(f"mlx5_{port}" for port in range(per_host // 2)),
        )
        for index in range(count)
    )
    tensor = int(rng.choice([1, 1, 2, 4])) if world >= 16 else int(rng.choice([1, 1, 2]))
    stages = int(rng.choice([1, 1, 2, 4])) if world // tensor >= 8 else 1
    if staged:
        stages = max(2, stages)
    if experts or staged:
        tensor = min(tensor, 2)
    pids = rng.integers(4_000, 3_000_000, size=count)
    step = int(rng.integers(1, 9))
    ranks = []
    for rank in range(world):
        host, local = divmod(rank, per_host)
        replica = rank // tensor % (world // tensor // stages)
        stage = rank // (world // stages)
        pid = int(pids[host]) + local * step
        gpu = hosts[host].gpus[local]
        ranks.append(RankPlace(rank, local, host, gpu, pid, replica, rank % tensor, stage))
    job = f"{rng.choice(['llm', 'vlm', 'asr', 'rec', 'moe'])}-{rng.integers(10_000, 99_999)}"
    groups = _groups(ranks, rng, tensor, stages, experts=experts)
    return ClusterLayout(job, hosts, tuple(ranks), groups, stages)


def reduced(layout: ClusterLayout, world: int) -> ClusterLayout:
    """Return the layout with the first `world` ranks alone; hosts stay."""
    groups = tuple(
        replace(one, ranks=inside)
        for one in layout.groups
        if len(inside := tuple(rank for rank in one.ranks if rank < world)) > 1
    )
    return replace(layout, ranks=layout.ranks[:world], groups=groups)


def _uuid(rng: np.random.Generator) -> str:
    return f"GPU-{uuid.UUID(bytes=rng.bytes(16))}"


def _groups(
    ranks: list[RankPlace], rng: np.random.Generator, tensor: int, stages: int, *, experts: bool
) -> tuple[GroupPlace, ...]:
    buckets = int(rng.integers(2, 12))
    members: dict[tuple[str, int, int], list[int]] = {}
    for one in ranks:
        members.setdefault(("dp", one.tp, one.pp), []).append(one.rank)
        if tensor > 1:
            members.setdefault(("tp", one.dp, one.pp), []).append(one.rank)
        if stages > 1:
            members.setdefault(("pp", one.dp, one.tp), []).append(one.rank)
    if experts:
        for (kind, first, second), inside in list(members.items()):
            if kind == "dp":
                for begin in range(0, len(inside), 4):
                    members["ep", first * 100 + begin, second] = inside[begin : begin + 4]
    often = {"dp": buckets, "tp": 48, "pp": 16, "ep": 24}
    return tuple(
        GroupPlace(f"{kind}:{_hash(kind, inside)}", kind, tuple(inside), often[kind])
        for (kind, _, _), inside in members.items()
        if len(inside) > 1
    )


def _hash(kind: str, ranks: list[int]) -> str:
    return hashlib.sha256(f"{kind} {ranks}".encode()).hexdigest()[:12]
