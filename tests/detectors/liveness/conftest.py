"""Jobs that stand still: what the tests of their detector and of its limits are drawn with."""

import numpy as np
import pytest

from rankscope.detectors.liveness.stalls import StallsDetector
from rankscope.detectors.sketch import START, readings, sketch
from rankscope.detectors.window import GroupProgress

AGE = "training.progress.age"


@pytest.fixture
def ages():
    """Return a function that gives what the probes say every 5 s until a second.

    ended: when the last step of each rank did; without it they say nothing of that.
    """

    def make(until, ranks=4, ended=np.inf):
        at = np.arange(0.0, until + 1, 5)
        ended = np.broadcast_to(np.array(ended, float), ranks)
        return readings(START + at, np.maximum(at - ended[:, None], 0.0))

    return make


@pytest.fixture
def evaluated(steady, ages):
    """Return a function that evaluates a job whose last step ended 60 s after START."""

    def evaluate(now, *, spoken=None, ranks=4, last_step=None, **fields):
        own = steady(ranks=ranks, spread=0.0)
        valid = {AGE: ages(now if spoken is None else spoken, ranks), **fields.pop("readings", {})}
        window = sketch(own, now=START + now, rank_readings=valid, **fields)
        for row, column in (last_step or {}).items():
            window.steps.at[row, column + 1 :] = np.nan
        return StallsDetector().evaluate(window)

    return evaluate


@pytest.fixture
def group():
    """Return a function that makes a group of all ranks by their counters, reported at a second."""

    def make(enqueued, completed, at=90.0, changed=61.0, kind="dp"):
        size = len(enqueued)
        return GroupProgress(
            name=f"{kind}:1",
            kind=kind,
            rows=np.arange(size),
            enqueued=np.array(enqueued, float),
            completed=np.array(completed, float),
            at=START + np.broadcast_to(np.array(at, float), size),
            changed_at=START + np.broadcast_to(np.array(changed, float), size),
        )

    return make
