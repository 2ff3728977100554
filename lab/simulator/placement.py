"""Where everything is: hosts, device slots, the ranks placed on them, and their groups."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .shape import ScenarioError, SimulatedCluster, SimulatedJob

FIRST_PID = 2000


@dataclass(frozen=True, slots=True)
class SimulatedGroup:
    """A communication group: its contract name, its members, and where in a step it speaks.

    `places` are the points of a member's own work (0 = start of the step, 1 = end of backward) at
    which an operation is launched, in order.
    """

    name: str
    kind: str
    desc: str
    members: NDArray[np.int64]
    places: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankSeats:
    """The ranks of one job attempt: arrays over ranks, plus the groups they form.

    `local` is the local rank; `place` the device slot on its host, `slot` that of the cluster.
    """

    host: NDArray[np.int64]
    local: NDArray[np.int64]
    place: NDArray[np.int64]
    slot: NDArray[np.int64]
    pid: NDArray[np.int64]
    dp: NDArray[np.int64]
    tp: NDArray[np.int64]
    pp: NDArray[np.int64]
    groups: tuple[SimulatedGroup, ...]
    ep: NDArray[np.int64]

    @property
    def world(self) -> int:
        return len(self.host)


def host_name(host: int) -> str:
    return f"gpu-{host:02d}"


def switch_name(cluster: SimulatedCluster, host: int) -> str:
    """Return the name of the leaf switch a host hangs on."""
    return f"leaf-{host // cluster.hosts_per_switch:02d}"


def rail_switch(cluster: SimulatedCluster, host: int, port: int) -> str:
    """Return the name of the leaf switch that a port of a host is plugged into."""
    name = switch_name(cluster, host)
    return f"{name}-rail-{port}" if cluster.rails else name


def ports_on(cluster: SimulatedCluster, switch: str) -> list[tuple[int, int]]:
    """Return (host, port) of every port on a leaf switch."""
    return [
        (host, port)
        for host in range(cluster.hosts)
        for port in range(cluster.nics)
        if rail_switch(cluster, host, port) == switch
    ]


def device_id(host: int, slot: int) -> str:
    digest = hashlib.sha256(f"device {host} {slot}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def device_index(host: int, place: int, slots: int) -> int:
    """Return the index of a slot among all slots of the cluster."""
    return host * slots + place


def ranks_of_host(seats: RankSeats, host: int) -> tuple[int, ...]:
    """Return the ranks placed on a host, sorted."""
    return tuple(np.flatnonzero(seats.host == host).tolist())


def rank_of(seats: RankSeats, host: int, place: int) -> int:
    """Return the rank in a place of a host; raises ScenarioError when there is none."""
    found = np.flatnonzero((seats.host == host) & (seats.place == place))
    if not len(found):
        raise ScenarioError(f"no rank in place {place} of host {host}")
    return int(found[0])


def seat(
    cluster: SimulatedCluster, job: SimulatedJob, *, attempt: int, order: NDArray[np.int64]
) -> RankSeats:
    """Place the ranks of a job on its hosts, in this order of hosts.

    Raises ScenarioError when the job does not fit the cluster, or tp * pp not the world size.
    """
    slots = job.slots or tuple(range(cluster.slots))
    if max(slots) >= cluster.slots or max(order) >= cluster.hosts:
        raise ScenarioError(f"job {job.name}: its hosts or slots are not in the cluster")
    world = len(order) * len(slots)
    if world % (job.tp * job.pp):
        raise ScenarioError(f"job {job.name}: {world} ranks are no multiple of tp * pp")
    host = np.repeat(order, len(slots))
    local = np.tile(np.arange(len(slots)), len(order))
    rank = np.arange(world)
    # Megatron's order: tensor neighbours adjacent, then data-parallel, pipeline stages outermost.
    replicas = world // (job.tp * job.pp)
    tp, dp, pp = rank % job.tp, rank // job.tp % replicas, rank // (job.tp * replicas)
    if replicas % job.ep:
        raise ScenarioError(f"job {job.name}: {replicas} replicas are no multiple of ep")
    place = np.asarray(slots)[local]
    slot = host * cluster.slots + place
    pid = FIRST_PID + 1000 * attempt + 37 * host + 11 * place
    return RankSeats(
        host, local, place, slot, pid, dp, tp, pp, _groups(job, dp, tp, pp), dp % job.ep
    )


def _groups(
    job: SimulatedJob, dp: NDArray[np.int64], tp: NDArray[np.int64], pp: NDArray[np.int64]
) -> tuple[SimulatedGroup, ...]:
    """Return the groups of every kind that has more than one member."""
    buckets = 0.5 + 0.5 * np.arange(1, job.buckets + 1) / job.buckets
    layers = np.linspace(0.02, 0.98, 32)
    kinds = (
        ("dp", buckets, (pp, tp)),
        ("tp", layers, (dp, pp)),
        ("pp", layers[::4], (dp, tp)),
    )
    groups = []
    for kind, places, (first, second) in kinds:
        for a in np.unique(first):
            for b in np.unique(second):
                members = np.flatnonzero((first == a) & (second == b))
                if len(members) > 1:
                    desc = f"{kind.upper()}_GROUP_{a}_{b}"
                    groups.append(_group(kind, desc, members, places))
    if job.ep > 1:
        for a in np.unique(dp // job.ep):
            for b in np.unique(pp * job.tp + tp):
                members = np.flatnonzero((dp // job.ep == a) & (pp * job.tp + tp == b))
                groups.append(_group("ep", f"EP_GROUP_{a}_{b}", members, layers[::2]))
    if job.second_group:
        groups.append(_group("other", "METRICS_GROUP", np.arange(len(dp)), np.array([0.45])))
    return tuple(groups)


def _group(
    kind: str, desc: str, members: NDArray[np.int64], places: NDArray[np.float64]
) -> SimulatedGroup:
    digest = hashlib.sha256(f"{desc} {members.tolist()}".encode()).hexdigest()[:12]
    return SimulatedGroup(f"{kind}:{digest}", kind, desc, members, places)
