"""Hosts beside their CPUs: storage, clock, software, and whether others can reach them."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

SHARED_MOUNT, LOCAL_MOUNT = "/mnt/data", "/scratch"


@dataclass(slots=True)
class NodeState:
    """What faults do to hosts; arrays over hosts.

    storage: factor on the time of reads and writes of the job's data. disk: share of time in which
    the local disk is busy beyond normal. waiting: share of time in which tasks wait for storage.
    blocked: processes in uninterruptible sleep. full: share of the local file system in use.
    clock: seconds by which the clock has drifted, `unsynchronised` when nothing disciplines it.
    unreachable: peers cannot open connections to it. driver: calls into the device driver hang.
    versions: by host, software that is not as on its peers.
    """

    storage: Array
    disk: Array
    waiting: Array
    blocked: Array
    full: Array
    clock: Array
    unsynchronised: Flags
    unreachable: Flags
    driver: Flags
    versions: dict[int, dict[str, str]] = field(default_factory=dict)


def sound(hosts: int) -> NodeState:
    """Return hosts with nothing wrong."""

    def no() -> Flags:
        return np.zeros(hosts, dtype=bool)

    return NodeState(
        storage=np.ones(hosts),
        disk=np.zeros(hosts),
        waiting=np.zeros(hosts),
        blocked=np.zeros(hosts),
        full=np.full(hosts, 0.41),
        clock=np.zeros(hosts),
        unsynchronised=no(),
        unreachable=no(),
        driver=no(),
    )
