"""The healthy step time of a job, and how far it strays, from the durations of its steps."""

import math
from dataclasses import dataclass

import numpy as np

from . import medians
from .arrays import Floats

AROUND = 0.75
"""Over the root of their number: the share of values on either side among which the true median
lies, by one and a half standard errors."""

BLOCK = 5
"""Of so many steps a block is made where the first ones are looked at."""

WARMING, SETTLED = 1.15, 1.04
"""The first block of a warm-up is so much slower than the healthy time, what is as fast as it less
than that."""

CLOSEST = 0.7
"""Blocks of steps wander by this share at least of what the noise of their steps makes of them."""


@dataclass(frozen=True, slots=True)
class HealthyPace:
    """A job's healthy step time.

    seconds: the fast side of the medians of blocks of steps. wander: how far these medians stray,
    as a standard deviation (s). spread: the same of single steps (s). tokens: the usual most tokens
    of a rank in a step, NaN where nobody reports them. ranks: how many it was learnt of. drift:
    how far the medians of all blocks stray, the slow ones too, as a standard deviation (s).
    warm_up: so many steps the attempt took to become as fast. exchange, work: what of a step the
    exchange in collectives takes, and the median rank's own work, in seconds; NaN where unknown.
    """

    seconds: float
    wander: float
    spread: float
    tokens: float = math.nan
    ranks: int = 0
    drift: float = 0.0
    warm_up: int = 0
    exchange: float = math.nan
    work: float = math.nan


def pace_of(duration: Floats, size: int) -> HealthyPace:
    """Return the pace of step times, [steps], by blocks of `size` steps; at least one block.

    It comes from the fast side of the blocks only, so that a fault that fills up to two thirds of
    the steps changes neither the healthy time nor the wander.
    """
    whole = len(duration) // size * size
    blocks = np.sort(medians.of_rows(duration[-whole:].reshape(-1, size)))
    last = len(blocks) - 1
    fast, healthy, upper, slow = (
        float(np.interp(share * last, np.arange(last + 1), blocks))
        for share in (0.05, 0.15, 0.3, 0.95)
    )
    spread = medians.spread(duration)
    # Few blocks may lie close by chance; by what passes from a step to the next they would not.
    noise = medians.OF_MEDIAN * medians.from_one_to_next(duration) / math.sqrt(size)
    wander = max((upper - fast) / 1.12, CLOSEST * noise)
    return HealthyPace(healthy, wander, spread, drift=(slow - fast) / 3.29)


def warmed_up(duration: Floats) -> int:
    """Return at which of the step times, [steps], the first of them are as fast as healthy ones.

    0 where they were from the start, and where they have not become so yet. Autotuning, caches that
    fill and connections that are made when first used take some steps or some hundred.
    """
    whole = len(duration) // BLOCK
    if not whole:
        return 0
    if medians.middle(duration[:BLOCK]) <= WARMING * duration.min():
        return 0  # as mostly: no healthy time is below the fastest step
    level = medians.of_rows(duration[: whole * BLOCK].reshape(-1, BLOCK))
    healthy = pace_of(duration, BLOCK).seconds
    calm = np.flatnonzero(level <= SETTLED * healthy)
    return int(calm[0]) * BLOCK if len(calm) and level[0] > WARMING * healthy else 0


def pace_of_few(duration: Floats) -> HealthyPace:
    """Return the pace of fewer step times than blocks can be made of; at least two.

    The middle of them is healthy where a fault fills less than half. The noise comes from the mean
    deviation without the largest (a hiccup): of so few values the median deviation says little.
    Where some steps hold pauses (a checkpoint every fifth), the median does not stray as far as
    those are long, but as the values around it lie apart.
    """
    seconds = medians.middle(duration)
    away = np.sort(np.abs(duration - seconds))[:-1]
    # Around their own median few values lie closer than around the true one.
    spread = medians.OF_MEDIAN * float(away.mean()) * len(duration) / (len(duration) - 1)
    wander = medians.OF_MEDIAN * spread / math.sqrt(len(duration))
    beside = min(AROUND / math.sqrt(len(duration)), 0.5)
    low, high = np.quantile(duration, (0.5 - beside, 0.5 + beside))
    return HealthyPace(seconds, min(wander, float(high - low) / 2), spread)
