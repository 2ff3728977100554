"""The layout of a simulated job: hosts, devices, ports, switches, ranks and their groups."""

import hashlib
import uuid
from dataclasses import dataclass, replace

import numpy as np

_PER_STEP = {"tp": 48, "pp": 16, "ep": 24}
"""Collectives of a group in one step; of data parallelism as many as there are buckets."""


@dataclass(frozen=True, slots=True)
class HostPlace:
    """A host: its leaf switch, and its ports (one for two devices)."""

    name: str
    switch: str
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

    def pid_of(self, attempt: int) -> int:
        """Return the process that the rank has in an attempt of the job."""
        return self.pid + 4_000 * attempt


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

    def on_host(self, host: int) -> tuple[int, ...]:
        return tuple(one.rank for one in self.ranks if one.host == host)

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
    count, rack = world // per_host, int(rng.integers(2, 40))
    per_switch = int(rng.choice([2, 4, 8]))
    gpus = [f"GPU-{uuid.UUID(bytes=rng.bytes(16))}" for _ in range(world)]
    nics = tuple(f"mlx5_{port}" for port in range(per_host // 2))
    hosts = tuple(
        HostPlace(
            f"gpu-r{rack + index // 4:02d}-n{index % 4:02d}",
            f"leaf-{rack // 4 + index // per_switch:02d}",
            nics,
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
        stage, pid = rank // (world // stages), int(pids[host]) + local * step
        place = RankPlace(rank, local, host, gpus[rank], pid, replica, rank % tensor, stage)
        ranks.append(place)
    job = f"{rng.choice(['llm', 'vlm', 'asr', 'rec', 'moe'])}-{rng.integers(10_000, 99_999)}"
    groups = _groups(ranks, int(rng.integers(2, 12)), tensor, stages, experts=experts)
    return ClusterLayout(job, hosts, tuple(ranks), groups, stages)


def reduced(layout: ClusterLayout, world: int) -> ClusterLayout:
    """Return the layout with the first `world` ranks alone; hosts stay."""
    cut = [replace(one, ranks=tuple(r for r in one.ranks if r < world)) for one in layout.groups]
    groups = tuple(one for one in cut if len(one.ranks) > 1)
    return replace(layout, ranks=layout.ranks[:world], groups=groups)


def _groups(
    ranks: list[RankPlace], buckets: int, tensor: int, stages: int, *, experts: bool
) -> tuple[GroupPlace, ...]:
    members: dict[tuple[str, int, int], list[int]] = {}
    for one in ranks:
        members.setdefault(("dp", one.tp, one.pp), []).append(one.rank)
        if tensor > 1:
            members.setdefault(("tp", one.dp, one.pp), []).append(one.rank)
        if stages > 1:
            members.setdefault(("pp", one.dp, one.tp), []).append(one.rank)
    for (kind, first, second), inside in list(members.items()) if experts else ():
        if kind == "dp":
            for begin in range(0, len(inside), 4):
                members["ep", first * 100 + begin, second] = inside[begin : begin + 4]
    return tuple(
        GroupPlace(
            f"{kind}:{hashlib.sha256(f'{kind} {inside}'.encode()).hexdigest()[:12]}",
            kind,
            tuple(inside),
            _PER_STEP.get(kind, buckets),
        )
        for (kind, _, _), inside in members.items()
        if len(inside) > 1
    )
