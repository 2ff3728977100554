"""What a job would do without a cause: its step time, and what the cause costs in GPU-hours."""

from dataclasses import dataclass
from typing import Literal

from .shapes import DocumentShape, Figure

CounterfactualBasis = Literal["phases", "durations"]
"""What it follows from: parts of the steps of each rank, or how long whole steps took before."""


@dataclass(frozen=True, slots=True)
class StepTimeWithout(DocumentShape):
    """A step time (s) without the cause, and the 90 % interval around it."""

    step_seconds: Figure
    low: Figure
    high: Figure


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
        if not self.step_seconds > 0:
            return 0.0
        return min(max(1 - self.without.step_seconds / self.step_seconds, 0.0), 1.0)
