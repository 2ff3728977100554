"""A job of which one rank reports how long its steps take."""

from dataclasses import replace

import numpy as np

from rankscope.detectors.sketch import START, sketch
from rankscope.detectors.window import StepValues

DURATION = "training.step.duration"


def reported(duration, *, every=1, frozen=None, **fields):
    """Return a job of which one rank reports step durations, [reports] in seconds."""
    at = START + np.cumsum(duration * every)
    index = np.arange(1, len(duration) + 1) * every
    steps = StepValues(index, at[None, :], {DURATION: duration[None, :]})
    window = sketch(np.ones((1, 2)), hosts=1, now=float(at[-1]), steps=steps, **fields)
    if frozen is not None:
        frozen.frozen = True
        return replace(window, held_baselines=frozen)
    return window
