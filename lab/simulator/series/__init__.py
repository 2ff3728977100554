"""What sensors report of an attempt and of the machines, as series: times and values.

In: an attempt and the state of its machines. Out: series: times and values by metric. Imports:
vocabulary; what stands below it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Attributes, TelemetryResource


@dataclass(frozen=True, slots=True)
class SimulatedSeries:
    """One series. `at` is the true time, in seconds from the start of the recording, ascending.

    `host` is the index of the host that reports it: its clock and deliveries apply.
    """

    host: int
    resource: TelemetryResource
    metric: str
    attributes: Attributes
    at: NDArray[np.float64]
    value: NDArray[np.float64]
