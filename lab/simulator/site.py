"""What all sensors of a recording share: the machines, how they report, and when they read."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .conditions import Conditions
from .shape import Cluster, Reporting


@dataclass(frozen=True, slots=True)
class Site:
    """The machines as sensors see them.

    `phases` ([host], s) are the moments in a period at which each host reads, `offsets` ([host],
    s) how far its clock is ahead; `conditions` answers what is so at a moment of the recording.
    """

    cluster: Cluster
    reporting: Reporting
    seconds: float
    phases: NDArray[np.float64]
    offsets: NDArray[np.float64]
    conditions: Callable[[float], Conditions]
    seed: int
