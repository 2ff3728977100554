"""When a fault begins to do what a limit on delays speaks of: a rank slower, stopped, a bad value.

A fault may act long before that: heat needs a minute to hold a clock down, a rank that stops at the
end of a step works until then, a loss scale halves twenty times before nothing is left to halve.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from .conditions import ClusterConditions
from .progress import SimulatedAttempt
from .work import slowdown

SLOWER = {"slower_5": 1.05, "slower_10": 1.10}
"""Factors on a rank's own work, by the name of the moment at which one is reached."""


def moments(
    attempts: Sequence[SimulatedAttempt],
    onset: float,
    sound: ClusterConditions,
    conditions: Callable[[float], ClusterConditions],
    *,
    gpus: bool,
) -> Mapping[str, float]:
    """Return when a fault that acts since `onset` had which effect, in seconds; others are absent.

    slower_5, slower_10: the start of the first step in which the own work of a rank took 5 and 10 %
    longer by it; stopped: the first rank stood still in a step; nonfinite: the start of the step of
    the first value that was not finite, but for gradients that a loss scaler skips.
    """
    found: dict[str, float] = {}
    for attempt in attempts:
        slower = _slower(attempt, onset, sound, conditions, gpus=gpus)
        for each in (slower, _stopped(attempt, onset), _nonfinite(attempt, onset)):
            for name, at in each.items():
                found[name] = min(found.get(name, np.inf), max(at, onset))
    return found


def _slower(
    attempt: SimulatedAttempt,
    onset: float,
    sound: ClusterConditions,
    conditions: Callable[[float], ClusterConditions],
    *,
    gpus: bool,
) -> dict[str, float]:
    found: dict[str, float] = {}
    job, steps = attempt.job, attempt.steps
    usual = job.compute * job.step_seconds
    for number, start in enumerate(steps.start):
        at = float(start.max())
        if at < onset:
            continue
        extra = usual * (slowdown(conditions(at), sound, job, attempt.seats, gpus=gpus) - 1)
        # What else the step holds counts, too: compilation hides the fault in the first one.
        own = steps.data[number] + steps.compute[number] + steps.gc[number]
        most = float((own / np.maximum(own - extra, 1e-9)).max())
        for name, factor in SLOWER.items():
            if most >= factor:
                found.setdefault(name, at)
        if len(found) == len(SLOWER):
            break
    return found


def _stopped(attempt: SimulatedAttempt, onset: float) -> dict[str, float]:
    steps = attempt.steps
    for number, (pause, end) in enumerate(zip(steps.pause, steps.end, strict=True)):
        if end.max() > onset and pause.any():
            own = steps.data[number] + steps.compute[number] - pause + steps.gc[number]
            at = steps.start[number] + steps.stop[number] * own
            return {"stopped": float(at[pause > 0].min())}
    rest = attempt.unfinished
    if rest is None:
        return {}
    halted = rest.limit < 1
    if not halted.any():
        # All have arrived; what would let them go on does not happen.
        return {"stopped": float((rest.start + rest.own).max())}
    return {"stopped": float((rest.start + rest.limit * rest.own)[halted].min())}


def _nonfinite(attempt: SimulatedAttempt, onset: float) -> dict[str, float]:
    for start, end, values in zip(
        attempt.steps.start, attempt.steps.end, attempt.steps.values, strict=True
    ):
        bad = values.bad_loss.any() or values.bad_local.any() or values.bad_reduced
        skipped = values.loss_scale > 0 and np.isinf(values.grad_norm)
        if end.max() > onset and bad and not skipped:
            return {"nonfinite": float(start.max())}
    return {}
