"""Steps in which a job said that it evaluates or writes a checkpoint: their length is its plan."""

import numpy as np

from .tenants import own_events
from .window import Flags, JobWindow

_PAUSES = ("eval", "checkpoint")

_BESIDE_SECONDS = 1.0
"""Events and ends of steps come by clocks and reporters of their own."""


def pauses(window: JobWindow, *, rank: int | None = None) -> Flags:
    """Return [steps] of the features, in which somebody, or this rank, announced a pause."""
    ends = window.features.step_ends
    said = [
        event.at
        for event in own_events(window)
        if event.name == "training.phase"
        and event.attributes.get("phase") in _PAUSES
        and rank in (None, event.attributes.get("rank"))
    ]
    began = np.concatenate([ends[:1], ends[:-1]])
    at = np.array(said)[None, :]
    inside = (at >= began[:, None] - _BESIDE_SECONDS) & (at <= ends[:, None] + _BESIDE_SECONDS)
    steps: Flags = np.any(inside, axis=1)
    return steps
