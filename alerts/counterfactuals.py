"""What one job loses to the cause of an incident, by its steps as they would be without it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..vocabulary.counterfactuals import (
    NO_HOURS,
    GpuHours,
    StepComparison,
    StepCounterfactual,
    sum_of,
)
from ..vocabulary.ids import Fault
from ..vocabulary.ranks import RankSet

EVERY_SECONDS = 10.0
"""At most so often the steps of a job are compared for one incident."""

StepMeter = Callable[[Fault, RankSet, float], StepComparison | None]
"""Compares a job's steps since an onset (s since the epoch) with those without a fault at ranks."""


def unmeasured(_fault: Fault, _ranks: RankSet, _onset: float) -> StepComparison | None:
    """Return None: nobody compares any steps."""
    return None


@dataclass(slots=True)
class MeasuredLoss:
    """What an incident takes of one job of `gpus` GPUs, as last measured at `at`.

    Each measurement stands for the time since the one before it, the first for that since the
    onset: a cause that grows has cost less at first.
    """

    steps: StepComparison | None = None
    at: float = float("-inf")
    gpus: int = 0
    lost: GpuHours = NO_HOURS

    def due(self, now: float) -> bool:
        """Return whether the last measurement is old enough for another one."""
        return now - self.at >= EVERY_SECONDS

    def take(self, steps: StepComparison | None, *, onset: float, gpus: int, now: float) -> None:
        """Take a measurement; None: there was nothing to measure by, and the last one stands."""
        if steps is None:
            return
        since = onset if self.steps is None else self.steps.until
        hours = max(steps.until - since, 0.0) / 3600
        self.lost = self.lost.then(steps.without.gain_of(steps.step_seconds, gpus).times(hours))
        self.steps, self.gpus, self.at = steps, gpus, now

    @property
    def gpu_hours_an_hour(self) -> float:
        return 0.0 if self.steps is None else self.steps.share * self.gpus


def total(losses: Iterable[MeasuredLoss]) -> StepCounterfactual | None:
    """Return what the jobs of an incident lose to its cause, None where none was measured."""
    measured = [loss for loss in losses if loss.steps is not None]
    first = measured[0].steps if measured else None
    if first is None:
        return None
    lost = sum_of(loss.lost for loss in measured)
    return StepCounterfactual(
        step_seconds=first.step_seconds,
        without=first.without,
        gpu_hours_lost=lost.gpu_hours,
        gpu_hours_an_hour=sum(loss.gpu_hours_an_hour for loss in measured),
        basis=first.basis,
        lost=lost,
    )
