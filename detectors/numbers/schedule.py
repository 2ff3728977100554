"""A learning rate that leaves its schedule from one step to the next."""

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves
from ..findings import report
from ..window import Floats, JobWindow

RATE = "training.learning_rate"

SEARCHED = 64
"""Newest steps in which a jump is looked for."""

FEWEST = 8
"""Steps before it without which nothing is known of the schedule."""

TIMES, USUAL_TIMES = 1.5, 4.0
"""By which factor it has to rise, and by how many times the largest rise of the steps before."""

STEADY_TIMES = 1.49
"""Of rates that differ by less altogether no two differ by TIMES, whatever is rounded."""


def _steady(plane: Floats | None) -> bool:
    """Tell whether the rates of a plane, [ranks, steps], are too alike for any to have jumped."""
    if plane is None or not plane.size:
        return True
    least, most = np.fmin.reduce(plane, axis=None), np.fmax.reduce(plane, axis=None)
    return bool(least > 0 and most < STEADY_TIMES * least)


def jumped(window: JobWindow, detector: str) -> list[Finding]:
    """Return the newest rise of the learning rate that the steps before do not announce."""
    steps = window.steps.last(SEARCHED + FEWEST)
    if all(_steady(steps.planes.get(name)) for name in curves.planes_of(RATE)):
        return []  # as mostly
    points = curves.curve(steps, window.ranks, RATE)
    known = points.value > 0
    rate, index = points.value[known], points.index[known]
    if len(rate) <= FEWEST:
        return []
    rise = np.log(rate[1:] / rate[:-1])
    for place in (rise > np.log(TIMES)).nonzero()[0][::-1].tolist():
        usual = float(np.abs(rise[max(place - SEARCHED, 0) : place]).max(initial=0.0))
        if place > FEWEST - 2 and rise[place] > USUAL_TIMES * usual:
            break
    else:
        return []
    before, after = float(rate[place]), float(rate[place + 1])
    at = steps.at[:, int(np.searchsorted(steps.index, index[place + 1]))]
    at = at[np.isfinite(at)]
    moment = float(at.min()) if len(at) else window.now
    return [
        report(
            window,
            detector,
            "job.learning_rate_jumped",
            window.entity,
            onset=moment,
            seen=(moment, moment),
            magnitude=after / before,
            score=3.0 if after > 2 * before else 2.0,
            signal=RATE,
            observed=after,
            expected=before,
            text=f"in step {int(index[place + 1])} the learning rate went from {before:.3g} to "
            f"{after:.3g}, {after / before:.3g} times as much, unlike in the steps before",
        )
    ]
