"""What faults of the training side act on: a part of the conditions at one moment."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(slots=True)
class NumericEffects:
    """What spoils the optimisation itself; healthy by default.

    spike: the model is pushed so far off (share of its loss); spike_steps: how many steps it takes
    to come back by two thirds (inf: never). divergence: growth of the loss per step (share).
    explosion, vanishing: growth and decay of the gradient norm per step (share). rate: factor on
    the learning rate; frozen: updates do nothing. After a resume, lost: share of the training that
    it forgot; wrong_data: lasting extra loss (share) of a data order or configuration that does not
    fit. overflows: no loss scale is small enough. drift (S): growth of a replica's own loss per
    step (share).
    """

    spike: float = 0.0
    spike_steps: float = 30.0
    divergence: float = 0.0
    explosion: float = 0.0
    vanishing: float = 0.0
    rate: float = 1.0
    frozen: bool = False
    lost: float = 0.0
    wrong_data: float = 0.0
    overflows: bool = False
    drift: Array | None = None


@dataclass(slots=True)
class FaultEffects:
    """Healthy until a fault says otherwise. H = hosts, S = device slots of the whole cluster.

    Time: data_extra (S, s per step) waited for a batch; other (S, s per step): work outside forward
    and backward; first_data, first_other: the same of rank 0, wherever it is; broadcasts: rank 0
    hands out the batches; work: factor on everybody's arithmetic;
    launch: CPU time to feed a device, in the place of the job's own; pauses: chance (per rank and
    step) and seconds of a collector's pause; recompiles: chance (per step) and seconds; stages:
    factors on the compute of pipeline stages; lengths: spread of the tokens in the place of the
    job's own; hot: (expert-parallel group, member, factor on its load); checkpoint: factor on
    saving.

    Ends: mismatch (S): launches another collective than its peers; how: what differs; leaves (S):
    ends its loop before its peers, `leaves_how`; deadlock: ranks wait for each other in two groups;
    idle: everybody does nothing; init: "waits" or "fails" before the first step.

    Memory of devices: device_held (S, share of it) kept from step to step, first_held (bytes) by
    rank 0, activations (S) factor on the peak, unusable (S, share) reserved but in pieces that fit
    nothing, contexts (S, bytes) held on the first device of the host by this slot's process. Of
    hosts, in bytes: trainer_held, worker_held (S, each worker), copied (S) share of the pages
    inherited from the trainer that a worker has written to; shm_held (H).
    kernel_reports: the kernel's message about a kill is read.
    """

    data_extra: Array
    other: Array
    mismatch: NDArray[np.bool_]
    leaves: NDArray[np.bool_]
    device_held: Array
    activations: Array
    unusable: Array
    contexts: Array
    trainer_held: Array
    worker_held: Array
    copied: Array
    shm_held: Array
    broadcasts: bool = False
    first_data: float = 0.0
    first_other: float = 0.0
    first_held: float = 0.0
    work: float = 1.0
    launch: float = 0.0
    pauses: tuple[float, float] = (0.0, 0.0)
    recompiles: tuple[float, float] = (0.0, 0.0)
    stages: dict[int, float] = field(default_factory=dict)
    lengths: float | None = None
    hot: tuple[int, int, float] | None = None
    checkpoint: float = 1.0
    leaves_how: Literal["exits", "evaluates", "waits"] = "exits"
    deadlock: bool = False
    idle: bool = False
    init: Literal["", "waits", "fails"] = ""
    init_timeout: float = 600.0
    kernel_reports: bool = True
    numerics: NumericEffects = field(default_factory=NumericEffects)


def none(hosts: int, slots: int) -> FaultEffects:
    """Return no effects at all, for so many hosts and device slots of the whole cluster."""
    return FaultEffects(
        data_extra=np.zeros(slots),
        other=np.zeros(slots),
        mismatch=np.zeros(slots, dtype=bool),
        leaves=np.zeros(slots, dtype=bool),
        device_held=np.zeros(slots),
        activations=np.ones(slots),
        unusable=np.zeros(slots),
        contexts=np.zeros(slots),
        trainer_held=np.zeros(slots),
        worker_held=np.zeros(slots),
        copied=np.zeros(slots),
        shm_held=np.zeros(hosts),
    )
