"""How the newest steps compare with older ones: how many, by what noise, how they became so."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from . import medians, onsets
from .healthy_time import HealthyPace, pace_of
from .window import Flags, Floats

LEAST_BLOCK = 4
"""So many steps make a block at least; of the past there are `blocks` of them."""

CHANCE = 1e-5
"""How probable a run of slow steps may be in a job that has slow steps anyway."""

LONG = 20
"""From so many steps on an effect may be smaller than the noise from step to step."""

CERTAINTY = 0.003
"""What no noise goes below, as a share of the step."""

GRADUAL = 1.08
"""Steps that grow by less, and little by little, are what warmer air and busier neighbours do to
healthy jobs: worth knowing, and no page."""

SIDE_STEPS, SIDE_SECONDS, AT_ONCE = 12, 60.0, 0.5
"""So many steps and seconds before an onset and after it show how much of a rise came at once, and
which share of it does where something happened."""

MOST_SIDE, STRAYS, SURE = 40, 6.0, 1.5
"""More steps, up to so many, where medians of fewer stray by more than one in so many of a rise; by
how many standard errors more than that share must have come at once."""

YOUNG_SECONDS = 1500.0
"""A window that holds less holds all that the attempt has shown."""


@dataclass(frozen=True, slots=True)
class PaceScale:
    """How much of the newest past is looked at, and the smallest ratio that counts in it.

    It holds so many steps and so many seconds at least.
    """

    fewest: int
    seconds: float
    least: float


SCALES = (
    PaceScale(4, 15.0, 1.3),
    PaceScale(5, 10.0, 1.1),
    PaceScale(20, 60.0, 1.05),
    PaceScale(60, 180.0, 1.04),
)


@lru_cache
def scales(least: float) -> tuple[PaceScale, ...]:
    """Return those of many steps, of which none looks for a smaller ratio than `least`."""
    return tuple(replace(scale, least=max(scale.least, least)) for scale in SCALES)


FEW_SCALES = (
    PaceScale(4, 15.0, 1.2),
    PaceScale(5, 20.0, 1.1),
    PaceScale(8, 60.0, 1.06),
    PaceScale(12, 90.0, 1.05),
)
"""What is looked at where the past has fewer steps than blocks need: steps of long duration."""

EXCERPT = PaceScale(4, 0.0, 1.5)
EXCERPT_PAST, EXCERPT_APART = 3, 1.25
"""What is looked at where the end of a log is known, which may be an excerpt: how many steps before
are enough, and how much longer than each of them each of the newest must take."""

FROM_START = PaceScale(8, 60.0, 1.04)
"""A whole attempt against the one before it."""


@dataclass(frozen=True, slots=True)
class SlowSteps:
    """What stands out: healthy and recent step time (s), the first slow column, noise (s).

    least, count: of the scale that shows it. drifts: it came little by little. partly: only some
    of the ranks have reported the newest of these steps. works: they hold as much more work.
    """

    healthy: float
    recent: float
    first: int
    noise: float
    least: float
    count: int
    said: str = ""
    drifts: bool = False
    partly: bool = False
    works: bool = False


def slower(
    values: Floats,
    ends: Floats,
    held: HealthyPace | None,
    *,
    least: float,
    sigmas: float,
    blocks: int,
    fewest: int = 0,
) -> SlowSteps | None:
    """Return what the newest step times show against older ones, by the shortest scale that does.

    values, ends: [steps], seconds, and when the steps ended. held: the pace learnt before an
    incident that is open. least: smallest ratio. sigmas: distance from the noise. blocks: how many
    blocks of steps a past must hold. fewest: no scale of fewer steps is looked at. `first` of the
    answer is a place in these arrays.
    """
    # No block's median on the fast side lies below this by much: most seconds end here.
    fastest = low(values) if len(values) else math.nan
    for scale in scales(least):
        if scale.fewest < fewest:
            continue
        count = covered(ends, scale)
        newest, past = values[-count:], values[:-count]
        if len(newest) < scale.fewest:
            break
        if held is None and len(past) < blocks * LEAST_BLOCK:
            break
        recent = medians.middle(newest)
        reference = fastest if held is None else min(fastest, held.seconds)
        if recent < scale.least * reference:
            continue
        size = max(LEAST_BLOCK, min(count, len(past) // 8))
        pace = held
        if len(past) >= blocks * size:
            pace = faster(pace_of(past, size), held)
        if pace is None:
            continue
        noise = noise_of(pace, count)
        if recent < scale.least * pace.seconds or recent - pace.seconds < sigmas * noise:
            continue
        limit = (pace.seconds + recent) / 2
        # It lasts: most of the steps, and the older and the newer half of them.
        half = count // 2
        if (
            (newest > limit).mean() < 0.6
            or medians.middle(newest[-half:]) < limit
            or (scale.fewest >= LONG and medians.middle(newest[:half]) < limit)
        ):
            continue
        first = onset_of(values, limit, recent - pace.seconds, scale)
        if held is None and scale.fewest < LONG:
            # Where steps are long again and again (a checkpoint in every third) a run never
            # ends: only those without a single other among them may be something new.
            slow = values > limit
            sparse = slow[first:].mean() < onsets.ODD_SHARE
            if chance(slow, onsets.newest_run(slow, ends_after=1) if sparse else first) > CHANCE:
                continue
        rise = recent - pace.seconds
        drifts = scale.fewest >= LONG and drifted(values, ends, first, rise, count)
        return SlowSteps(pace.seconds, recent, first, noise, scale.least, count, drifts=drifts)
    return None


def low(values: Floats) -> float:
    """Return what at most a tenth of the values lies below."""
    place = len(values) // 10
    return float(np.partition(values, place)[place])


def covered(ends: Floats, scale: PaceScale) -> int:
    """Return how many of the newest steps, which ended at `ends`, hold the scale's seconds."""
    newest = ends[-1] if len(ends) else 0.0
    return max(int((ends > newest - scale.seconds).sum()), scale.fewest)


def faster(pace: HealthyPace, held: HealthyPace | None) -> HealthyPace:
    """Return a pace, the one learnt before the incident where that is faster."""
    if held is None or held.seconds >= pace.seconds:
        return pace
    return HealthyPace(held.seconds, min(held.wander, pace.wander), min(held.spread, pace.spread))


def noise_of(pace: HealthyPace, count: int) -> float:
    """Return how far a median of so many healthy steps strays, in seconds."""
    return math.hypot(_error(pace.spread, count), pace.wander) + CERTAINTY * pace.seconds


def _error(spread: float, count: int) -> float:
    """Return the standard error of the median of so many values that stray by `spread`."""
    return medians.OF_MEDIAN * spread / math.sqrt(count)


def chance(slow: Flags, first: int) -> float:
    """Return how probable the run of slow steps since `first` is, by those before it.

    A chain of two states: how often a step is slow, and how often another one follows it.
    """
    past = slow[:first]
    single = (int(past.sum()) + 1) / (first + 2)
    follows = (int((past[1:] & past[:-1]).sum()) + 0.1) / (int(past.sum()) + 1)
    length = int(slow[first:].sum())
    return float(single * max(single, follows) ** (length - 1))


def onset_of(values: Floats, limit: float, effect: float, scale: PaceScale) -> int:
    """Return the place of the first slow step."""
    if scale.fewest >= LONG:
        return onsets.change_point(values, limit, effect)
    return onsets.newest_run(values > limit)


def drifted(values: Floats, ends: Floats, first: int, rise: float, count: int) -> bool:
    """Tell whether a rise may be a drift: it came little by little, or nobody can tell that.

    values, ends: [places], durations and when the steps ended, in seconds. first: place of the
    first slow step. rise: by how much the newest steps take longer, in seconds. count: how many
    these are. False where what was before has left the window.
    """
    past, stretch = float(ends[first] - ends[0]), float(ends[-1] - ends[-count])
    if past < stretch and float(ends[-1] - ends[0]) < YOUNG_SECONDS:
        return True  # a drift of the newest would not have shown in so short a past
    near = int((np.abs(ends - ends[first]) <= SIDE_SECONDS).sum()) // 2
    spread = math.sqrt(2) * medians.from_one_to_next(values)  # of two steps
    certain = math.ceil(min((medians.OF_MEDIAN * spread * STRAYS / rise) ** 2, MOST_SIDE))
    side = max(SIDE_STEPS, near, certain)
    before, after = values[max(first - side, 0) : first], values[first : first + side]
    if len(before) < SIDE_STEPS // 2:
        return False
    at_once = medians.middle(after) - medians.middle(before)
    return at_once < AT_ONCE * rise + SURE * _error(spread, min(len(before), len(after)))
