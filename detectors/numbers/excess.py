"""Where a curve stands above its own level beyond the noise of its batches, and where it began.

Used by the detectors of loss spikes, divergence and gradient explosion. The noise of a loss has a
tail: one rank's odd micro batch is 20 standard deviations away and means nothing. So the limit is
taken from the tail of the curve's own past, extrapolated as an exponential, and a point of one
rank's batch has to be followed by another: weights that were hurt need steps to recover, a batch
does not come twice.

References: Siffer et al., Anomaly detection in streams with extreme value theory (KDD'17), for the
limit; PaLM (2022) 5.1 and Takase et al., Spike no more (2023) for how spikes decay.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .. import curves, medians
from ..curves import CurveMemory, JobCurve
from ..window import Flags, Floats

LEVEL = 32
"""Points whose median is the level that the next point is compared with."""

TAIL = 256
"""Points whose excess over their level gives the limit."""

FEWEST = 16
"""Points of excess without which there is no limit."""

SEARCHED = 512
"""Newest points in which an excess may have begun."""

TAIL_LENGTHS = 5.0
"""The limit lies so many distances between the quantiles 0.9 and 0.99 above 0.9. Of an exponential
tail one point in a million is beyond; a Gaussian tail is shorter."""

SIGMAS, FOLLOWING_SIGMAS = 6.0, 4.0
"""At least so many standard deviations for the first point, and for the one that confirms it."""

ENDS_AFTER = 3
"""So many points below half of the limit are the end."""

NEAR = 64
"""So many of the newest excesses say how far points stray now: a loss that fell steeply at first
lay ever less below the level of its past, which is no noise."""

EARLY_LINE, FEWEST_EARLY, FEWEST_FOLLOWING = 16, 10, 2
"""Points of the line that an early point is compared with, at most and at least; points after it
that have to be as high."""

ROUNDING = 1e-6
"""By which share of the values two ways to fit a line may differ, at most."""

EARLY_LEAST, EARLY_SIGMAS = 2.0, 10.0
"""An early excess is larger by this factor than a late one has to be; and beyond so many standard
deviations of so few points."""


FEW_LEAST, FEW_REACHES = 0.25, 3.0
"""After fewer points than FEWEST_EARLY, or where one point that follows is enough: share of the
level; and after fewer, times what lies between the lowest and the highest of them."""

EXCERPT_FOLLOWING = 1
"""Points after an early one that have to be as high in a log, whose end is known."""


@dataclass(frozen=True, slots=True)
class CurveExcess:
    """Points [first, last] of a curve that stand above `level`; `over`: normal ones follow.

    limit: how far above the level the first point had to be. peak: the highest value.
    """

    first: int
    last: int
    level: float
    limit: float
    peak: float
    over: bool


def found(
    curve: JobCurve,
    *,
    least: float,
    noise: float,
    memory: CurveMemory | None = None,
    few: int = FEWEST_EARLY,
) -> list[CurveExcess]:
    """Return the times in which a curve stands above its level, oldest first.

    least: smallest excess as a share of the level. noise: of the curve, see `curves.noise`.
    memory: of the same curve, to compute less. few: points before the first that may stand out in a
    curve that has only begun.
    """
    value = curve.value
    if len(value) < LEVEL + FEWEST:
        return _early(value, least, few)
    level = curves.trailing_median(value, LEVEL, memory)
    beyond = value - level
    odd = _odd(value, level, beyond, least, noise)
    episodes: list[CurveExcess] = []
    place = 0
    for first in np.flatnonzero(odd).tolist():
        if first < place or not np.isfinite(beyond[first]):
            continue
        limit = _limit(beyond, first, least * abs(float(level[first])), curve)
        if not beyond[first] > limit:
            continue
        episode = _until_over(value, first, float(level[first]), limit)
        episodes.append(episode)
        place = episode.last + 1
        # What was an excess says nothing about the noise.
        beyond[first : place + ENDS_AFTER] = np.nan
    return episodes


def _odd(value: Floats, level: Floats, beyond: Floats, least: float, noise: float) -> Flags:
    """Return [points], where it is worth while to work out the limit."""
    newest = np.arange(len(value)) >= max(LEVEL + FEWEST, len(value) - SEARCHED)
    with np.errstate(invalid="ignore"):
        odd: Flags = newest & (beyond > np.maximum(least * np.abs(level), 0.5 * SIGMAS * noise))
    return odd


def _limit(beyond: Floats, first: int, least: float, curve: JobCurve) -> float:
    """Return what the excess of a point has to be beyond, inf where it cannot be one."""
    past = _past(beyond, first)
    if len(past) < FEWEST:
        return np.inf
    middle, sigma = medians.middle(past), medians.spread(past)
    if curve.reduced:
        sigma = min(sigma, medians.spread(past[-NEAR:]))
    high, higher = (float(one) for one in np.quantile(past, (0.9, 0.99)))
    bulk = max(middle + SIGMAS * sigma, least)
    tail = max(high + TAIL_LENGTHS * (higher - high), bulk)
    if curve.reduced:
        return tail
    following = float(beyond[first + 1]) if first + 1 < len(beyond) else -np.inf
    if following > bulk:
        return bulk  # two in a row so far out are no batches, however long the tail
    return tail if following > middle + FOLLOWING_SIGMAS * sigma else np.inf


def _early(value: Floats, least: float, few: int) -> list[CurveExcess]:
    """Return the first large excess over the line through the points before it.

    With fewer points than a tail can be taken of, only what stands far above and stays for points.
    """
    for first in range(few, len(value) - FEWEST_FOLLOWING):
        before = value[max(first - EARLY_LINE, 0) : first]
        near = float(_onward(len(before)) @ before)
        least_high = near + EARLY_LEAST * least * abs(near)
        if value[first] <= least_high - ROUNDING * float(np.abs(before).max()):
            continue  # as mostly: it need not be known how far the points stray
        places = np.arange(len(before)) - len(before)
        slope, level = np.polyfit(places, before, 1)
        strays = max(medians.spread(before - slope * places), curves.noise(before))
        high = value[first : first + FEWEST_FOLLOWING + 1]
        limit = max(EARLY_LEAST * least * abs(float(level)), EARLY_SIGMAS * strays)
        much = max(limit, FEW_LEAST * abs(float(level)))
        if few < FEWEST_EARLY and high[0] > level + much:
            high, limit = high[: EXCERPT_FOLLOWING + 1], much
        if first < FEWEST_EARLY:  # so few say little of how far they stray
            reach = float(before.max() - before.min())
            limit = max(much, FEW_REACHES * reach)
        if high[0] > level + limit and high.min() > level + limit / 2:
            return [_until_over(value, first, float(level), limit)]
    return []


@lru_cache(maxsize=EARLY_LINE)
def _onward(count: int) -> Floats:
    """Return what each of `count` points counts for in the line through them, one place further."""
    places = np.arange(count) - (count - 1) / 2
    weights: Floats = 1 / count + (count + 1) / 2 * places / (places**2).sum()
    return weights


def _past(beyond: Floats, first: int) -> Floats:
    past = beyond[max(first - TAIL, LEVEL) : first]
    return past[np.isfinite(past)]


def _until_over(value: Floats, first: int, level: float, limit: float) -> CurveExcess:
    high = value[first:] > level + limit / 2
    normal = np.flatnonzero(
        np.convolve(~high, np.ones(ENDS_AFTER), mode="full")[: len(high)] >= ENDS_AFTER
    )
    over = bool(len(normal))
    stop = int(normal[0]) - ENDS_AFTER + 1 if over else len(high)
    last = int(np.flatnonzero(high[:stop])[-1])
    return CurveExcess(
        first, first + last, level, limit, float(value[first : first + last + 1].max()), over
    )
