"""A gradient norm that stood still and has sunk ever since, by factors, while the loss went on.

Norms of healthy jobs fall by factors too, but with a reason that shows: from their first step on as
the loss leaves its start, or once a learning rate that warms up makes the loss fall faster. So only
a norm counts that was level before it began to sink, sinks all the while, and far more than the
loss, which since then falls no faster than before.
"""

import numpy as np

from .. import curves, medians
from ..curves import JobCurve
from ..window import Floats
from .divergence import CLIMBING, climbing

STILL, NEWEST = 24, 8
"""Points for which a norm is level before it sinks, and points whose median is where it is now."""

LEVEL = 0.1
"""Share of the fall that the halves of the level may differ by."""

SIGMAS, EACH_THIRD = 8.0, 3.0
"""Standard deviations of a point by which it is down, and by which each third is below the last."""

OF_LOSS = 0.15
"""Share of the norm's fall, in logarithms, that the loss may fall by: gradients of what is learnt
by heart fall as the loss does."""


def sinks(
    size: Floats, norm: JobCurve, loss: JobCurve, *, least: float
) -> tuple[int, float, float] | None:
    """Return (place since which it is low, newest size, level before); None where nothing sinks.

    size: [points], logarithms of the norm. least: smallest fall. Where no loss is reported nobody
    can say that a fall has no reason.
    """
    if len(size) < STILL + CLIMBING:
        return None
    now = medians.middle(size[-NEWEST:])
    if not medians.middle(size[:STILL]) - now > least:
        return None
    x = np.arange(float(len(size)))
    places = np.arange(STILL, len(size) - 2)
    first = int(places[np.argmax(curves.bends(x, -size, places))])
    if len(size) - first < CLIMBING:
        return None  # it may be a fall at once
    level, sigma = medians.middle(size[:first]), curves.noise(size)
    fall = level - now
    if not fall > max(least, SIGMAS * sigma) or not climbing(-size[first:], EACH_THIRD * sigma):
        return None
    older, newer = (medians.middle(half) for half in np.array_split(size[:first], 2))
    if older - newer > LEVEL * fall:
        return None
    if not _goes_on(loss, int(norm.index[first]), fall):
        return None
    # Since the newest that were still level: the bend lies before them where norms fall a little
    # anyway. A single one among those that sink is an odd batch.
    still = size >= level - max(sigma, LEVEL * fall)
    usual = np.flatnonzero(still[1:] & still[:-1])
    return int(usual[-1]) + 2 if len(usual) else first, now, level


def _goes_on(loss: JobCurve, since: int, fall: float) -> bool:
    """Tell whether the loss, since a step, falls by little and no faster than before."""
    before, after = loss.until(since), loss.after(since - 1)
    if min(len(before), len(after)) < NEWEST or not float(loss.value.min()) > 0:
        return False
    (was, was_then), (had, now) = _ends(before.value), _ends(after.value)
    if np.log(max(had, was_then) / now) > OF_LOSS * fall:
        return False
    noise = curves.noise(loss.value)
    return (had - now) / len(after) < max(was - was_then, 0.0) / len(before) + noise / len(after)


def _ends(value: Floats) -> tuple[float, float]:
    return medians.middle(value[: NEWEST // 2]), medians.middle(value[-NEWEST // 2 :])
