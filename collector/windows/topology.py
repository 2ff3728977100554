"""The topology of an attempt from what was reported: made anew when something of it changed."""

import numpy as np

from ...detectors.window import Ints
from ...vocabulary.topology import UNKNOWN, CommunicationGroup, JobTopology, PlacementTable
from .attempt import JobAttempt
from .hosts import HostNumbers
from .layout import TopologyLayout

_FIELDS = ("local_ranks", "pids", "dp", "tp", "pp", "ep")


def layout(attempt: JobAttempt, hosts: HostNumbers) -> TopologyLayout:
    """Return the layout of an attempt, that of last time where nothing changed."""
    versions = (attempt.placements.version, attempt.version, hosts.version)
    held = attempt.layout
    if held is not None and held.versions == versions:
        return held
    made = _made(attempt, hosts, versions, held)
    attempt.layout = made
    return made


def _made(
    attempt: JobAttempt, hosts: HostNumbers, versions: tuple[int, ...], held: TopologyLayout | None
) -> TopologyLayout:
    placements = attempt.placements
    count = len(placements)
    numbers = attempt.host_numbers()
    names = [hosts.names[number] for number in numbers.tolist()]
    order = sorted(range(len(names)), key=names.__getitem__)
    position = np.full(len(hosts.names) + 1, UNKNOWN, np.int64)
    position[numbers[order]] = np.arange(len(order))
    host_of = position[placements.hosts[:count]]  # -1, the last one, where there is no host
    sorted_names = [names[index] for index in order]
    switches = {
        name: switch
        for name in sorted_names
        if (switch := hosts.switches.get(name) or attempt.switches.get(name))
    }
    nics = [nic for name in sorted_names for nic in hosts.nics.get(name, {}).values()]
    columns = {name: placements.column(name) for name in _FIELDS}
    ranks = np.array(placements.ranks, np.int64)
    topology = JobTopology(
        attempt.job,
        attempt=attempt.number,
        cluster=attempt.cluster,
        version=0 if held is None else held.topology.version + 1,
        world_size=attempt.world_size,
        hosts=sorted_names,
        switches=switches,
        nics=sorted({nic.id: nic for nic in (*nics, *attempt.nics.values())}.values(), key=_id),
        groups=[
            CommunicationGroup(
                name, info.kind, info.ranks or attempt.members.ranks(name), info.description
            )
            for name, info in sorted(attempt.groups.items())
        ],
    ).place(
        PlacementTable(
            ranks=placements.column_of(ranks),
            host_of=placements.column_of(host_of),
            hw_ids=tuple(placements.hw_ids),
            **columns,
        )
    )
    return TopologyLayout(
        versions=versions,
        topology=topology,
        ranks=ranks,
        host_of=host_of,
        role_of=_roles(placements.pp[:count], placements.tp[:count]),
        pids=placements.pids[:count].copy(),
        host_ids=numbers[order],
    )


def _roles(pp: Ints, tp: Ints) -> Ints:
    """Return [rows] numbers, equal for ranks of one stage and tensor index: they do equal work."""
    both = pp * (1 << 32) + tp
    _, first, which = np.unique(both, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(len(first))
    roles: Ints = number[which]
    return roles


def _id(nic: object) -> str:
    return str(getattr(nic, "id", ""))
