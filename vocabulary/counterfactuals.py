"""What a job would do without a cause: its step time, and what the cause costs in GPU-hours."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from .shapes import DocumentShape, FieldPresence, Figure

CounterfactualBasis = Literal["phases", "durations"]
"""What it follows from: parts of the steps of each rank, or how long whole steps took before."""


@dataclass(frozen=True, slots=True)
class GpuHours(DocumentShape):
    """GPU-hours that would not have been lost, and the 90 % interval around them."""

    gpu_hours: Figure
    low: Figure
    high: Figure

    def times(self, factor: float) -> "GpuHours":
        """Return so many times as many; the error is the same in all of them."""
        return GpuHours(self.gpu_hours * factor, self.low * factor, self.high * factor)

    def then(self, other: "GpuHours") -> "GpuHours":
        """Return both in succession, of one cause in one job: their errors add up."""
        return GpuHours(
            self.gpu_hours + other.gpu_hours, self.low + other.low, self.high + other.high
        )


NO_HOURS = GpuHours(0.0, 0.0, 0.0)


def sum_of(hours: Iterable[GpuHours]) -> GpuHours:
    """Return the sum of what was measured apart: errors of one balance those of others in part."""
    rows = list(hours)
    total = math.fsum(row.gpu_hours for row in rows)
    below = math.hypot(*(row.gpu_hours - row.low for row in rows))
    above = math.hypot(*(row.high - row.gpu_hours for row in rows))
    return GpuHours(total, max(total - below, 0.0), total + above)


@dataclass(frozen=True, slots=True)
class StepTimeWithout(DocumentShape):
    """A step time (s) without the cause, and the 90 % interval around it."""

    step_seconds: Figure
    low: Figure
    high: Figure

    def gain_of(self, step_seconds: float, gpus: int) -> GpuHours:
        """Return what an hour of so many GPUs would give back of steps that take so long now."""
        if not step_seconds > 0:
            return NO_HOURS
        gains = (1 - value / step_seconds for value in (self.step_seconds, self.high, self.low))
        return GpuHours(*(gpus * min(max(gain, 0.0), 1.0) for gain in gains))


@dataclass(frozen=True, slots=True)
class StepCounterfactual(DocumentShape):
    """The newest steps of a job as they are, and as they would be without the incident's cause.

    Of several jobs the step times are those of the first that is measured, the hours those of all.
    """

    step_seconds: Figure
    """Mean of the newest steps since the onset (s)."""
    without: StepTimeWithout
    gpu_hours_lost: Figure
    """Since the onset, by the difference of the two, up to the newest step that was measured."""
    gpu_hours_an_hour: Figure
    """What another hour of it costs; of a resolved incident what the last one did."""
    basis: CounterfactualBasis
    lost: Annotated[GpuHours | None, FieldPresence.OPTIONAL] = None
    """`gpu_hours_lost` with its 90 % interval."""


@dataclass(frozen=True, slots=True)
class StepComparison:
    """The newest steps of one job, as they are and without one cause.

    first, last: indices of the steps. until: when the last one ended (s since the epoch).
    """

    step_seconds: float
    without: StepTimeWithout
    basis: CounterfactualBasis
    first: int
    last: int
    until: float

    @property
    def share(self) -> float:
        """Return the share (0-1) of the job's time that the cause takes."""
        return self.without.gain_of(self.step_seconds, 1).gpu_hours
