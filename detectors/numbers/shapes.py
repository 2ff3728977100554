"""How a level came off: at once, or little by little.

What is at hand is a row of distances with noise. Two descriptions are fitted to it: a jump, and a
ramp that rises over at least `RAMP` points and may stay at its end. Each has a level before, a
height and a place; the points after the place have a noise of their own (a device that computes
wrong does not err by the same amount each time). The difference of the log-likelihoods says which
one it was, or that nobody can say yet.

References: Hinkley (1970) and Chow (1960) on the place of a change, with a likelihood profile.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .. import medians
from ..window import Floats, Ints

RAMP = 6
"""Points over which a ramp rises at least; anything shorter is a jump to it."""

FEWEST = 6
"""Points after a place without which nothing is fitted there."""

MOST, PLACES = 512, 64
"""Newest points that are looked at, and places of a ramp that are tried; a jump is at any."""

CERTAIN = 4.0
"""Difference of log-likelihoods from which on one description is better."""

GROWS = 0.5
"""Share of the newest offset that a ramp has to explain."""

Came = Literal["at once", "gradually", "unclear"]


@dataclass(frozen=True, slots=True)
class OffsetShape:
    """How an offset came and at which place [points] it began."""

    came: Came
    first: int


@dataclass(frozen=True, slots=True)
class _ShapeFit:
    likelihood: float
    first: int
    height: float


def of(distance: Floats) -> OffsetShape:
    """Return how the newest level of distances, [points] in units of their noise, came about.

    >>> noise = np.random.default_rng(7).normal(0, 1, 100)
    >>> of(noise + 8.0 * (np.arange(100) >= 60))
    Shape(came='at once', first=60)
    >>> of(noise + 0.2 * np.maximum(np.arange(100) - 60, 0)).came
    'gradually'
    """
    skipped = max(len(distance) - MOST, 0)
    distance = distance[skipped:]
    count = len(distance)
    if count < 2 * FEWEST:
        return OffsetShape("unclear", 0)
    newest = medians.middle(distance[-2 * FEWEST :])
    jump = _best(distance, np.arange(1, count - FEWEST + 1), 1)
    places = np.unique(np.linspace(0, count - FEWEST, min(PLACES, count)).astype(np.int64))
    widths = [width for width in (RAMP, 12, 24, 48, 96, 192, 384, 768) if width < 2 * count]
    ramp = max((_best(distance, places, width) for width in widths), key=lambda f: f.likelihood)
    gain = ramp.likelihood - jump.likelihood
    if gain > CERTAIN and ramp.height * np.sign(newest) > GROWS * abs(newest):
        return OffsetShape("gradually", skipped + ramp.first)
    return OffsetShape("at once" if gain < -CERTAIN else "unclear", skipped + jump.first)


def _best(distance: Floats, places: Ints, width: int) -> _ShapeFit:
    """Return the best fit of a level that changes from a place on, over `width` points."""
    count = len(distance)
    at = np.arange(count)
    rise = np.clip((at - places[:, None] + 1.0) / width, 0.0, 1.0)
    centred = rise - rise.mean(axis=1, keepdims=True)
    square = np.maximum((centred**2).sum(axis=1), 1e-12)
    height = centred @ distance / square
    left = distance - distance.mean() - height[:, None] * centred
    after = at >= places[:, None]
    likelihood = np.zeros(len(places))
    for part in (after, ~after):
        many = part.sum(axis=1)
        variance = np.where(part, left**2, 0.0).sum(axis=1) / np.maximum(many, 1)
        likelihood -= 0.5 * many * np.log(np.maximum(variance, 0.25))
    best = int(np.argmax(likelihood))
    reached = float(rise[best, -1] - rise[best, 0])
    return _ShapeFit(float(likelihood[best]), int(places[best]), float(height[best]) * reached)
