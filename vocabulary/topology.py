"""What runs where: one job attempt's ranks, processes, devices, hosts, ports, switches and groups.

One immutable value, made anew only when something moved (`version`), and shared by windows,
detectors, causes and the API. Rows are the rows of every matrix of the attempt, one a rank.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from . import entities
from .entities import Entity, EntityType
from .ids import Job
from .ranks import RankSet

UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class RankPlacement:
    """Where one rank runs, and its parallel coordinates; None and "" where nobody reports it."""

    rank: int
    host: str = ""
    local_rank: int | None = None
    pid: int | None = None
    hw_id: str | None = None
    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None


@dataclass(frozen=True, slots=True)
class PlacementTable:
    """Placements as columns over ranks: what a hundred thousand of them are made of quickly.

    array('q') each, UNKNOWN where nobody reports it; host_of indexes the topology's sorted hosts.
    """

    ranks: "array[int]"
    host_of: "array[int]"
    local_ranks: "array[int]"
    pids: "array[int]"
    dp: "array[int]"
    tp: "array[int]"
    pp: "array[int]"
    ep: "array[int]"
    hw_ids: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class NicPort:
    """A network port of a host, as `hw.network.info` describes it."""

    host: str
    device: str
    port: str
    rail: str | None = None
    switch: str | None = None
    gpu: str | None = None

    @property
    def id(self) -> str:
        """Return the id of a nic: host/device:port."""
        return f"{self.host}/{self.device}:{self.port}"


@dataclass(frozen=True, slots=True)
class CommunicationGroup:
    """A communication group: `kind` is dp, tp, pp, ep, world or other."""

    name: str
    kind: str
    ranks: RankSet
    description: str = ""

    @property
    def entity(self) -> Entity:
        return Entity("group", self.name, None, self.ranks)


class JobTopology:
    """One job attempt's layout. Everything is known when it is made; nothing changes later.

    ranks, host_of, local_ranks, pids, pp, tp, dp, ep: array('q') by row, -1 where unknown
    (`numpy.frombuffer` takes them as they are). hw_ids: by row. hosts: names, sorted; `host_of`
    indexes them. switches: leaf switch by host name, of hosts that hang on one. mounts: shared
    mounts by id, with their hosts.
    """

    def __init__(
        self,
        job: Job,
        *,
        attempt: int = 0,
        cluster: str | None = None,
        version: int = 0,
        world_size: int = 0,
        placements: Sequence[RankPlacement] = (),
        hosts: Iterable[str] = (),
        switches: Mapping[str, str] | None = None,
        nics: Sequence[NicPort] = (),
        groups: Sequence[CommunicationGroup] = (),
        mounts: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.job = job
        self.attempt = attempt
        self.cluster = cluster
        self.version = version
        self.world_size = max(world_size, len(placements))
        self.hosts = tuple(sorted({*hosts, *(p.host for p in placements if p.host)}))
        self.switches = dict(switches or {})
        self.nics = tuple(nics)
        self.groups = tuple(groups)
        self.mounts = dict(mounts or {})
        self._host_index = {host: index for index, host in enumerate(self.hosts)}
        number = self._host_index
        self.ranks = array("q", (p.rank for p in placements))
        self.host_of = array("q", (number.get(p.host, UNKNOWN) for p in placements))
        self.local_ranks = _optional(p.local_rank for p in placements)
        self.pids = _optional(p.pid for p in placements)
        self.dp, self.tp = _optional(p.dp for p in placements), _optional(p.tp for p in placements)
        self.pp, self.ep = _optional(p.pp for p in placements), _optional(p.ep for p in placements)
        self.hw_ids = tuple(p.hw_id for p in placements)
        self._entities: dict[tuple[str, str], Entity] = {}
        # Made when first asked for: at a hundred thousand ranks most are never asked.
        self._rows_of: dict[int, int] | None = None
        self._rows_of_host: list[list[int]] | None = None
        self._devices: dict[tuple[int, str], int] | None = None
        self._pids: dict[tuple[int, int], int] | None = None

    def place(self, columns: PlacementTable) -> "JobTopology":
        """Take the ranks as columns instead of placements; `hosts` were given when it was made."""
        self.ranks, self.host_of = columns.ranks, columns.host_of
        self.local_ranks, self.pids = columns.local_ranks, columns.pids
        self.dp, self.tp, self.pp, self.ep = columns.dp, columns.tp, columns.pp, columns.ep
        self.hw_ids = columns.hw_ids
        self.world_size = max(self.world_size, len(self.ranks))
        return self

    # -- rows and ranks ---------------------------------------------------------------------

    def row(self, rank: int) -> int | None:
        """Return the row of a global rank, None where it has none."""
        if self._rows_of is None:
            self._rows_of = {rank: row for row, rank in enumerate(self.ranks)}
        return self._rows_of.get(rank)

    def host(self, rank: int) -> str | None:
        """Return the host of a rank, None where unknown."""
        row = self.row(rank)
        index = UNKNOWN if row is None else self.host_of[row]
        return self.hosts[index] if index >= 0 else None

    def pid(self, rank: int) -> int | None:
        """Return the process id of a rank on its host, None where unknown."""
        row = self.row(rank)
        return None if row is None or self.pids[row] < 0 else self.pids[row]

    def rank_of_pid(self, host: str, pid: int) -> int | None:
        """Return the rank whose process has this id on a host."""
        if self._pids is None:
            rows = zip(self.host_of, self.pids, self.ranks, strict=True)
            self._pids = {(index, held): rank for index, held, rank in rows if held >= 0}
        return self._pids.get((self._host_index.get(host, UNKNOWN), pid))

    def rank_of_device(self, host: str, hw_id: str) -> int | None:
        if self._devices is None:
            rows = zip(self.host_of, self.hw_ids, self.ranks, strict=True)
            self._devices = {(index, held): rank for index, held, rank in rows if held}
        return self._devices.get((self._host_index.get(host, UNKNOWN), hw_id))

    def rank_of_local(self, host: str, local_rank: int) -> int | None:
        """Return the rank that is this one on its host, None where that is not known.

        Where no local ranks are reported, launchers count in turn: of ranks that follow each other
        the first is 0.
        """
        index = self._host_index.get(host, UNKNOWN)
        rows = zip(self.host_of, self.local_ranks, self.ranks, strict=True)
        here = [(local, rank) for held, local, rank in rows if held == index >= 0]
        if any(local >= 0 for local, _ in here):
            found = [rank for local, rank in here if local == local_rank]
        else:
            ranks = sorted(rank for _, rank in here)
            in_turn = bool(ranks) and ranks[-1] - ranks[0] == len(ranks) - 1
            found = ranks[local_rank : local_rank + 1] if in_turn else []
        return found[0] if len(found) == 1 else None

    def ranks_of_host(self, host: str) -> RankSet:
        return self.host_entity(host).ranks

    # -- ports and switches ---------------------------------------------------------------------

    @cached_property
    def nics_of_host(self) -> Mapping[str, Sequence[NicPort]]:
        """Return the ports by host."""
        found: dict[str, list[NicPort]] = {}
        for nic in self.nics:
            found.setdefault(nic.host, []).append(nic)
        return found

    @cached_property
    def hosts_of_switch(self) -> Mapping[str, Sequence[str]]:
        """Return the hosts that hang on each leaf switch; with a switch a rail a host has many."""
        found: dict[str, dict[str, None]] = {}
        for host in self.hosts:
            for switch in self.switches_of(host):
                found.setdefault(switch, {})[host] = None
        return {switch: tuple(hosts) for switch, hosts in found.items()}

    def switches_of(self, host: str, nic: str | None = None) -> Sequence[str]:
        """Return the leaf switches of a host, or that of one of its ports, by the port's id.

        What is said of a host holds for all its ports; where nothing is, its ports may say it.
        """
        if host in self.switches:
            return (self.switches[host],)
        ports = [one for one in self.nics_of_host.get(host, ()) if nic in (None, one.id)]
        return tuple(dict.fromkeys(one.switch for one in ports if one.switch))

    # -- entities -----------------------------------------------------------------------------

    @property
    def job_entity(self) -> Entity:
        return self._once("job", self.job, lambda: entities.job(self.job, RankSet(self.ranks)))

    def rank_entity(self, rank: int) -> Entity:
        """Return a rank with its host where known."""
        return entities.rank(rank, self.host(rank))

    def host_entity(self, host: str) -> Entity:
        """Return a host with the ranks of this job that run on it."""

        def made() -> Entity:
            index = self._host_index.get(host)
            rows = [] if index is None else self._rows_by_host()[index]
            return entities.host(host, RankSet(self.ranks[row] for row in rows))

        return self._once("host", host, made)

    def gpu_entity(self, rank: int) -> Entity | None:
        """Return the device of a rank, None where unknown."""
        row = self.row(rank)
        hw_id = None if row is None else self.hw_ids[row]
        return entities.gpu(hw_id, self.host(rank), (rank,)) if hw_id else None

    def switch_entity(self, switch: str) -> Entity:
        """Return a leaf switch with the ranks of the hosts, or of the ports, that hang on it."""

        def made() -> Entity:
            ranks: set[int] = set()
            for host in self.hosts_of_switch.get(switch, ()):
                if host in self.switches:
                    ranks.update(self.ranks_of_host(host))
                    continue
                for nic in self.nics_of_host[host]:
                    if nic.switch == switch:
                        ranks.update(self.nic_entity(nic).ranks)
            return Entity("switch", switch, None, RankSet(ranks))

        return self._once("switch", switch, made)

    def nic_entity(self, nic: NicPort) -> Entity:
        """Return a port with the ranks that use it: those of its device, else of its host."""
        rank = self.rank_of_device(nic.host, nic.gpu) if nic.gpu else None
        ranks = self.ranks_of_host(nic.host) if rank is None else RankSet((rank,))
        return Entity("nic", nic.id, nic.host, ranks)

    def host_of_entity(self, entity: Entity) -> str | None:
        """Return the host that an entity is or runs on, None where it spans several."""
        if entity.host is not None:
            return entity.host
        if not 0 < len(entity.ranks) <= 64:
            return None
        first, *others = entity.ranks
        host = self.host(first)
        return host if all(self.host(rank) == host for rank in others) else None

    def as_type(self, entity: Entity, kind: EntityType) -> tuple[Entity, ...]:
        """Return what an entity means as another type: a rank's host, a device's rank, the job."""
        if kind == entity.type:
            return (self.host_entity(entity.id),) if kind == "host" else (entity,)
        if kind == "job":
            return (self.job_entity,)
        if kind == "code":
            return (Entity("code", self.job),) if entity.type == "job" else ()
        if kind == "host":
            host = self.host_of_entity(entity)
            return (self.host_entity(host),) if host in self._host_index else ()
        if kind == "switch":
            host = self.host_of_entity(entity)
            nic = entity.id if entity.type == "nic" else None
            switches = () if host is None else self.switches_of(host, nic)
            return (self.switch_entity(switches[0]),) if len(switches) == 1 else ()
        if kind == "rank" and entity.type in ("gpu", "process"):
            return tuple(self.rank_entity(rank) for rank in entity.ranks)
        if kind == "gpu" and entity.type in ("rank", "process"):
            devices = (self.gpu_entity(rank) for rank in entity.ranks)
            return tuple(device for device in devices if device is not None)
        return ()

    def _rows_by_host(self) -> list[list[int]]:
        if self._rows_of_host is None:
            self._rows_of_host = [[] for _ in self.hosts]
            for row, index in enumerate(self.host_of):
                if index >= 0:
                    self._rows_of_host[index].append(row)
        return self._rows_of_host

    def _once(self, kind: str, name: str, make: Callable[[], Entity]) -> Entity:
        found = self._entities.get((kind, name))
        if found is None:
            found = self._entities[kind, name] = make()
        return found


def _optional(values: Iterable[int | None]) -> "array[int]":
    return array("q", (UNKNOWN if value is None else value for value in values))
