"""What came after a bad step and before it: training that went on, an attempt that had it too."""

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..findings import report
from ..window import Flags, Floats, JobWindow
from . import loss_scaling
from . import nonfinite_values as values

USUAL = 30
"""Newest steps whose ends say how long a step usually takes."""

WAIT_SECONDS, WAIT_STEPS = 60.0, 3.0
"""The step after a bad gradient may be reported that late: a batch of reports and three steps."""


def skipped(window: JobWindow, bad: values.NonfiniteMasks, *, over: bool) -> Flags:
    """Return [steps], where only reduced gradients were bad, and the parameters outlived it.

    over: no step comes after the newest.
    """
    steps = window.steps
    reported, lost = values.reported(steps)
    excused = np.zeros(len(reported), np.bool_)
    if not reported.any():
        return excused
    broken = values.any_rank(bad.own) | lost
    ends = compute_time.step_ends(steps)[reported]
    usual = _usual(ends)
    excused[reported] = loss_scaling.skipped(
        (values.any_rank(bad.shared) & ~broken)[reported],
        broken[reported],
        started=not values.truncated(window),
        waiting=not over and window.now - float(ends[-1]) < WAIT_SECONDS + WAIT_STEPS * usual,
    )
    return excused


def repeated(window: JobWindow, detector: str, index: int, at: float) -> list[Finding]:
    """Return that an earlier attempt had gone non-finite at the same step."""
    if not np.isfinite(at):
        return []
    ends = compute_time.step_ends(window.steps)
    usual = _usual(ends[np.isfinite(ends)])
    memory = window.baselines.nonfinite
    before = memory.note(window.attempt, index, at, step_seconds=max(usual, 0.0))
    if not before:
        return []
    return [
        report(
            window,
            detector,
            "job.nonfinite_repeated",
            window.entity,
            onset=at,
            magnitude=float(before),
            score=3.0,
            signal="training.loss",
            observed=float(index),
            text=f"values went non-finite at step {index} again, as {before} time(s) before "
            "the restart: the data of that step are the same",
        )
    ]


def _usual(ends: Floats) -> float:
    """Return how long a step usually takes (s), by when steps ended; 0 where nobody can tell."""
    return medians.middle(np.diff(ends[-USUAL:])) if len(ends) > 1 else 0.0
