"""Where the time of a step goes: seconds of each phase, as means over ranks."""

from dataclasses import dataclass

import numpy as np

from ...detectors.window import Floats, JobWindow

STEP = "training.step.duration"
PHASES = ("compute", "comm", "data", "optimizer", "checkpoint", "gc")
"""In the order in which they are drawn; each is `training.<phase>.duration`."""

OTHER = "other"
"""What no phase accounts for."""


@dataclass(frozen=True, slots=True)
class PhaseSeconds:
    """seconds: by phase, [buckets] seconds of a step. at: [buckets], when its last step ended."""

    at: Floats
    steps: list[int]
    seconds: dict[str, Floats]


def phases(window: JobWindow, *, start: float, end: float, points: int) -> PhaseSeconds | None:
    """Return the phases of the steps in [start, end], None where no step was reported in it."""
    steps = window.steps
    durations = steps.planes.get(STEP)
    if durations is None or not durations.size:
        return None
    ended = np.fmax.reduce(steps.at, axis=0, initial=-np.inf)
    valid = np.isfinite(durations)
    chosen = np.flatnonzero((ended >= start) & (ended <= end) & valid.any(axis=0))
    if not len(chosen):
        return None
    parts = min(len(chosen), points)
    edges = (np.arange(parts) * len(chosen)) // parts
    counts = np.add.reduceat(valid[:, chosen].sum(axis=0), edges)

    def mean(plane: Floats) -> Floats:
        known = np.where(np.isfinite(plane) & valid, plane, 0.0)[:, chosen]
        found: Floats = np.add.reduceat(known.sum(axis=0), edges) / counts
        return found

    # A phase that a rank does not report in a step took no time in it.
    seconds = {
        phase: mean(plane)
        for phase in PHASES
        if (plane := steps.planes.get(f"training.{phase}.duration")) is not None
    }
    rest = mean(durations) - np.sum(list(seconds.values()), axis=0)
    seconds[OTHER] = np.maximum(rest, 0.0)
    last = np.append(edges[1:], len(chosen)) - 1
    return PhaseSeconds(ended[chosen[last]], steps.index[chosen[edges]].tolist(), seconds)
