"""How the newest steps compare with older ones: how many are looked at, and what their noise is."""

import math
from dataclasses import dataclass

import numpy as np

from .. import onsets
from ..baselines import Pace
from ..window import Flags, Floats, Ints

LONG = 20
"""From so many steps on an effect may be smaller than the noise from step to step."""

CERTAINTY = 0.003
"""What no noise goes below, as a share of the step."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of the newest past is looked at, and the smallest ratio that counts in it.

    It holds so many steps and so many seconds at least.
    """

    fewest: int
    seconds: float
    least: float


def low(values: Floats) -> float:
    """Return what at most a tenth of the values lies below."""
    place = len(values) // 10
    return float(np.partition(values, place)[place])


def covered(ends: Floats, valid: Ints, scale: Scale) -> int:
    """Return how many of the newest steps hold the scale's steps and seconds."""
    at = ends[valid]
    return max(int((at > ends[-1] - scale.seconds).sum()), scale.fewest)


def faster(pace: Pace, held: Pace | None) -> Pace:
    """Return a pace, the one learnt before the incident where that is faster."""
    if held is None or held.seconds >= pace.seconds:
        return pace
    return Pace(held.seconds, min(held.wander, pace.wander), min(held.spread, pace.spread))


def noise_of(pace: Pace, count: int) -> float:
    """Return how far a median of so many healthy steps strays, in seconds."""
    error = 1.2533 * pace.spread / math.sqrt(count)
    return math.hypot(error, pace.wander) + CERTAINTY * pace.seconds


def chance(slow: Flags, first: int) -> float:
    """Return how probable the run of slow steps since `first` is, by those before it.

    A chain of two states: how often a step is slow, and how often another one follows it.
    """
    past = slow[:first]
    single = (int(past.sum()) + 1) / (first + 2)
    follows = (int((past[1:] & past[:-1]).sum()) + 0.1) / (int(past.sum()) + 1)
    length = int(slow[first:].sum())
    return float(single * max(single, follows) ** (length - 1))


def onset_of(values: Floats, limit: float, effect: float, scale: Scale) -> int:
    """Return the place of the first slow step."""
    if scale.fewest >= LONG:
        return onsets.change_point(values, limit, effect)
    return onsets.newest_run(values > limit)
