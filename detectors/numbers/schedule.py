"""A learning rate that leaves its schedule from one step to the next."""

import numpy as np

from ...vocabulary.findings import Finding
from .. import curves
from ..findings import report
from ..window import JobWindow

RATE = "training.learning_rate"

SEARCHED = 64
"""Newest steps in which a jump is looked for."""

FEWEST = 8
"""Steps before it without which nothing is known of the schedule."""

TIMES, USUAL_TIMES = 1.5, 4.0
"""By which factor it has to rise, and by how many times the largest rise of the steps before."""


def jumped(window: JobWindow, detector: str) -> list[Finding]:
    """Return the newest rise of the learning rate that the steps before do not announce."""
    steps = window.steps.last(SEARCHED + FEWEST)
    points = curves.curve(steps, window.ranks, RATE)
    known = points.value > 0
    rate, index = points.value[known], points.index[known]
    if len(rate) <= FEWEST:
        return []
    rise = np.log(rate[1:] / rate[:-1])
    for place in range(len(rise) - 1, FEWEST - 2, -1):
        usual = float(np.abs(rise[max(place - SEARCHED, 0) : place]).max(initial=0.0))
        if rise[place] > max(np.log(TIMES), USUAL_TIMES * usual):
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
