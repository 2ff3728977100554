"""The state of the machines at one moment: what faults act on, and what physics and sensors see."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from . import devices, effects, nodes, ports
from .devices import DeviceState
from .nodes import NodeState
from .ports import PortState
from .shape import SimulatedCluster

NO_POISON, POISONS_LOSS, POISONS_GRADIENT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class ProcessDeath:
    """How a process ended: the moment, what the kernel and its log said.

    `role` is what its last log line counts as; `oom` reports that the kernel killed it for memory,
    or, with `worker`, that child of it (its number among the data loader's workers).
    """

    at: float
    exit_code: int | None = None
    signal: int | None = None
    signature: str = ""
    text: str = ""
    role: str = "cascade"
    oom: bool = False
    worker: int | None = None

    @classmethod
    def raised(cls, at: float, error: str, text: str) -> "ProcessDeath":
        """Return the end of a process by an exception of this name that nothing caught."""
        return cls(at, exit_code=1, signature=f"python.{error}", text=text, role="root")


@dataclass(slots=True)
class ClusterConditions:
    """Healthy until a fault says otherwise. H = hosts, S = device slots of the whole cluster.

    cpu_share (H): the part of the CPU time they ask for that the job's processes get.
    cpu_clock (H): clock of the host's CPUs as a ratio to nominal; nobody waits longer for a CPU.
    neighbours (H): share of the host's CPUs that other work keeps busy.
    steal (H), throttled (S): share of the time in which the hypervisor has the CPU, or a quota
    holds the rank's processes back. swollen (H): share of memory taken by what grows.
    clock (S): device clock as a ratio to nominal. heat (S): degrees above normal.
    drag (S): hidden factor on the device's time, >= 1. thermal (S): thermal protection is active.
    network: factor on the time of collectives between hosts.
    stopped (S): where in its step the process stops (share of its own work), NaN when it runs.
    busy_stop (S): whether it burns its CPU while stopped. released: when stopped processes go on.
    corrupted (S): relative error of what the device computes without any sign, 0 where it is right.
    devices, ports, nodes: what is so beneath, see there; `settled` makes clocks of it.
    poison (S): what goes non-finite, `poison_once` in one step only. silent (H): the host is gone,
    since `lost_at`. deaths: by slot. training: what faults of the training side do.
    """

    cpu_share: NDArray[np.float64]
    cpu_clock: NDArray[np.float64]
    neighbours: NDArray[np.float64]
    steal: NDArray[np.float64]
    swollen: NDArray[np.float64]
    silent: NDArray[np.bool_]
    throttled: NDArray[np.float64]
    quota_share: NDArray[np.float64]
    clock: NDArray[np.float64]
    heat: NDArray[np.float64]
    drag: NDArray[np.float64]
    thermal: NDArray[np.bool_]
    stopped: NDArray[np.float64]
    busy_stop: NDArray[np.bool_]
    poison: NDArray[np.int64]
    training: effects.FaultEffects
    corrupted: NDArray[np.float64]
    devices: DeviceState
    ports: PortState
    nodes: NodeState
    network: float = 1.0
    released: float = np.inf
    lost_at: float = np.inf
    poison_once: bool = False
    deaths: dict[int, ProcessDeath] = field(default_factory=dict)


def healthy(cluster: SimulatedCluster, seed: int = 0) -> ClusterConditions:
    """Return the conditions of a cluster in which nothing is wrong; the seed makes its devices."""
    hosts, slots = cluster.hosts, cluster.hosts * cluster.slots
    return ClusterConditions(
        cpu_share=np.ones(hosts),
        cpu_clock=np.ones(hosts),
        neighbours=np.zeros(hosts),
        steal=np.zeros(hosts),
        swollen=np.zeros(hosts),
        silent=np.zeros(hosts, dtype=bool),
        throttled=np.zeros(slots),
        quota_share=np.ones(slots),
        clock=np.ones(slots),
        heat=np.zeros(slots),
        drag=np.ones(slots),
        thermal=np.zeros(slots, dtype=bool),
        stopped=np.full(slots, np.nan),
        busy_stop=np.zeros(slots, dtype=bool),
        poison=np.zeros(slots, dtype=np.int64),
        training=effects.none(hosts, slots),
        corrupted=np.zeros(slots),
        devices=devices.sound(cluster, seed),
        ports=ports.sound(cluster),
        nodes=nodes.sound(cluster.hosts),
    )


def settled(state: ClusterConditions) -> ClusterConditions:
    """Return the conditions after the devices have found their clocks; call it after the faults."""
    state.clock = state.clock * devices.settle(state.devices)
    state.thermal = state.thermal | state.devices.thermal_sw | state.devices.thermal_hw
    state.drag = state.drag / (1 - np.clip(state.devices.foreign, 0.0, 0.95))
    return state
