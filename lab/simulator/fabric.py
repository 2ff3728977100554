"""The network between hosts: ports, rails, leaf switches, and how long a collective takes on them.

Every rank sends through the port nearest to its device. A ring or tree is as slow as its slowest
link: one bad port slows the collectives of every group that has a member behind it.
"""

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions
from .placement import RankSeats
from .shape import SimulatedCluster

Array = NDArray[np.float64]


def port_of(cluster: SimulatedCluster, place: int) -> int:
    """Return the index of the port that serves a device's place on its host."""
    return place * cluster.nics // cluster.slots


def device_name(port: int) -> str:
    return f"mlx5_{port}"


def nic_id(host: str, port: int) -> str:
    """Return the id of a port: host/device:port."""
    return f"{host}/{device_name(port)}:1"


def slowness(state: ClusterConditions, seats: RankSeats) -> Array:
    """Return, per rank, the factor on the time of transfers to other hosts (1: healthy)."""
    ports, devices = state.ports, state.devices
    wire = 1 / np.maximum(ports.bandwidth[seats.host, _ports(state, seats)], 1e-3)
    # A device behind a degraded PCIe link feeds its port no faster than that link.
    bus = devices.lanes[seats.slot] * 0.5 ** devices.generation[seats.slot]
    path: Array = np.maximum(wire, _BUS_NEEDED / bus) * ports.transport[seats.host]
    return np.maximum(path, 1.0)


_BUS_NEEDED = 0.7
"""Share of a device's PCIe bandwidth that its network port needs: at most 50 of 63 GB/s."""


def _ports(state: ClusterConditions, seats: RankSeats) -> NDArray[np.int64]:
    """Return the index of each rank's port."""
    hosts, nics = state.ports.up.shape
    slots = len(state.devices.lanes) // hosts
    found: NDArray[np.int64] = seats.place * nics // slots
    return found


def local_slowness(state: ClusterConditions, seats: RankSeats) -> Array:
    """Return, per rank, the factor on the time of transfers to devices of the same host."""
    return 1 / np.maximum(state.devices.link_width[seats.slot], 1e-3)


def slowdown(
    state: ClusterConditions, seats: RankSeats, members: NDArray[np.int64] | None = None
) -> float:
    """Return the factor on the time of a collective among these ranks (all without `members`)."""
    hosts = seats.host if members is None else seats.host[members]
    inside = local_slowness(state, seats)
    slowest = float((inside if members is None else inside[members]).max())
    if (hosts == hosts[0]).all():
        return slowest
    between = slowness(state, seats)
    slowest = max(slowest, float((between if members is None else between[members]).max()))
    return state.network * slowest


def severed(state: ClusterConditions, seats: RankSeats) -> bool:
    """Tell whether collectives of this job cannot finish: a path that it needs carries nothing."""
    if (seats.host == seats.host[0]).all():
        return False
    return bool(state.ports.severed[seats.host, _ports(state, seats)].any())
