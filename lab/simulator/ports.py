"""Network ports as faults leave them: up or down, how wide, how many errors and marks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .shape import SimulatedCluster

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class PortState:
    """What faults do to ports; arrays over hosts and ports, `transport` over hosts.

    up: the link is up. bandwidth: what it carries as a ratio. severed: nothing gets through, and
    transfers wait. symbol, receive, discards, timeouts: errors a second. downs, recoveries: how
    often it went down, or was trained again, so far. marks, waits: congestion a second (packets
    marked; ticks in which it had to wait for credits). transport: factor on the time of transfers
    of a host (sockets in the place of RDMA), `sockets` when they leave by the management network.
    """

    up: Flags
    bandwidth: Array
    severed: Flags
    symbol: Array
    receive: Array
    discards: Array
    timeouts: Array
    downs: Array
    recoveries: Array
    marks: Array
    waits: Array
    transport: Array
    sockets: Flags


def sound(cluster: SimulatedCluster) -> PortState:
    """Return ports with nothing wrong but the noise that the cluster has."""
    shape = (cluster.hosts, cluster.nics)
    symbol = np.zeros(shape)
    for host, port, hourly in cluster.noisy_ports:
        symbol[host, port] += hourly / 3600
    return PortState(
        up=np.ones(shape, dtype=bool),
        bandwidth=np.ones(shape),
        severed=np.zeros(shape, dtype=bool),
        symbol=symbol,
        receive=np.zeros(shape),
        discards=np.zeros(shape),
        timeouts=np.zeros(shape),
        downs=np.zeros(shape),
        recoveries=np.zeros(shape),
        marks=np.full(shape, 0.02),
        waits=np.full(shape, 40.0),
        transport=np.ones(cluster.hosts),
        sockets=np.zeros(cluster.hosts, dtype=bool),
    )
