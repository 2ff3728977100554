"""Which ranks' own work stands above that of their peers: the statistics of stragglers.py.

A sequential test in the form of moving windows of several lengths, evaluated at every step: the
short ones find large effects at once, the long ones small effects once enough steps have been seen.
How many that are follows from the effect over the noise, which is the job's own, from step to step
within a rank and between ranks; the distance that an effect must have grows with the number of
ranks, since the largest of many is far out by chance.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .. import compute_time, medians
from ..window import Flags, Floats, Ints
from .scales import ENDED, LONGER, SHORT, SearchScale
from .usual import UsualRatios

SIGMAS = 4.0
"""How far beyond the noise an effect must stand among few ranks."""

BEYOND_CHANCE = 1.0
"""So many more, and no chance in hours of windows puts one rank there: it is sure by itself."""

ISOLATED_SHARE, ISOLATED_PEERS, ISOLATED_SIGMAS = 1 / 8, 4, 5.0
"""Of a role with so many ranks at least, so few, so far beyond the spread of all of them, stand out
from the first step by `least_alone`; a skew that many ranks have is the job's own."""

CERTAIN = 2.5
"""Standard errors that a skew from the first step on must be larger than what is asked of it."""

NOISE_PAIRS, NOISE_STEPS = 128, 256
"""So many pairs of ranks, over so many of the newest steps, say how much ranks vary."""

STRETCHES, FEWEST_STRETCHES = 24, 3
"""So many stretches of the past, at least so few, say how far ranks wander for a while."""

ABOVE_FARTHEST = 1.5
"""So many times as far as any healthy rank has wandered, a rank has to stand out."""


@dataclass(frozen=True, slots=True)
class OutstandingRanks:
    """Ranks that stand out.

    rows: which. effect: [ranks], their excess as a share. usual: [ranks], the ratio to peers that
    it is an excess over. score: [ranks], 1 being just enough. small: [ranks], shown by the long
    scale only. sure: [ranks], it is no chance even if the job's steps take as long as ever.
    count: how many of the newest steps were looked at, by the shortest scale that shows
    any. since: by row, the first column of the first of several episodes. first: it is a first
    word, and too little for a warning.
    """

    rows: Ints
    effect: Floats
    usual: Floats
    score: Floats
    small: Flags
    sure: Flags
    count: int
    since: Mapping[int, int] = field(default_factory=dict)
    first: bool = False


def standing_out(
    ratio: Floats,
    usual: UsualRatios,
    scales: tuple[SearchScale, ...],
    counts: tuple[int, ...],
    *,
    role_of: Ints,
    strays: Callable[[], Floats],
    least_from_start: float,
    isolated: bool,
    unlike: Flags | None = None,
) -> OutstandingRanks | None:
    """Return the ranks that stand out, None where none does.

    ratio: [ranks, steps] to healthy peers. strays: gives its `noise`. scales: the shortest first,
    which says what is reported of a rank that several show. counts: how many newest steps they
    cover. isolated: few ranks may stand out by little from the first step on. unlike: [ranks],
    whose skew from the first step on is no fault: their devices are of another model than most.
    """
    same = np.ones(len(ratio), np.bool_) if unlike is None else ~unlike
    found = [
        _by_scale(
            ratio, usual, role_of, strays, scale, count, least_from_start, same, isolated=isolated
        )
        for scale, count in zip(scales, counts, strict=True)
        if count <= ratio.shape[1]
    ]
    shown = [one for one in found if one is not None]
    if not shown:
        return None
    best = shown[0]
    for other in shown[1:]:
        best = _with_longer(best, other)
    return best


def _with_longer(short: OutstandingRanks, long: OutstandingRanks) -> OutstandingRanks:
    """Return what two scales show, the shorter one first."""
    by_short = np.isin(np.arange(len(short.effect)), short.rows)
    return OutstandingRanks(
        np.union1d(short.rows, long.rows),
        np.where(by_short, short.effect, long.effect),
        np.where(by_short, short.usual, long.usual),
        np.where(by_short, short.score, long.score),
        np.where(by_short, short.small, long.small),
        short.sure | long.sure,
        short.count,
    )


def _by_scale(
    ratio: Floats,
    usual: UsualRatios,
    role_of: Ints,
    strays: Callable[[], Floats],
    scale: SearchScale,
    count: int,
    least_from_start: float,
    same: Flags,
    *,
    isolated: bool,
) -> OutstandingRanks | None:
    recent, base = ratio[:, -count:], usual.ratio
    fewest = scale.persistence * count
    with np.errstate(invalid="ignore"):
        limit = (base * (1 + scale.least / 2)).astype(recent.dtype)  # as large as it is, no copy
        became = (recent > limit[:, None]).sum(axis=1, dtype=np.int16) >= fewest
        always = (recent > 1 + scale.least / 2).sum(axis=1, dtype=np.int16) >= fewest
        if scale.fewest >= LONGER.fewest and (became | always).any():
            now = medians.median(recent[:, -(count // ENDED) :], axis=1)
            became, always = became & (now > limit), always & (now > 1 + scale.least / 2)
    if not became.any() and not always.any():
        return None  # a healthy job ends here, without one sort
    middle = medians.median(recent, axis=1)
    grown, plain = middle / base - 1, middle - 1
    with np.errstate(invalid="ignore"):
        enough = became & usual.known & (grown >= scale.least)
        enough |= always & (plain >= least_from_start)
    if not enough.any() and not (isolated and _any_beyond(plain, role_of, always, scale)):
        return None  # whatever the noise is
    within = medians.median(np.abs(recent - middle[:, None]), axis=1)
    error = medians.OF_MEDIAN * medians.OF_MAD * within / math.sqrt(count)
    pooled = error[np.isfinite(error)]
    error = np.maximum(np.nan_to_num(error), medians.middle(pooled) if len(pooled) else 0.0)
    # Of five steps the deviation says little, and of two ranks one is always ahead of the other.
    error = np.maximum(error, medians.OF_MEDIAN * strays() / math.sqrt(count))
    # Routers and loaders favour now these ranks, a minute later others: no count of steps averages
    # that away.
    sigmas = max(SIGMAS, 1.5 + math.sqrt(2 * math.log(max(len(ratio), 1))))
    wander = wandering(ratio, usual, count, enough, medians.middle(error), sigmas)
    error = np.hypot(error, wander)
    # What is usual is as uncertain as the steps that it was learnt from are few.
    of_both = error * math.sqrt(1 + count / max(usual.steps, 1))
    with np.errstate(invalid="ignore"):
        slower = became & usual.known & (grown >= scale.least)
        distance = _distance(grown, of_both, scale, half=True)
        slower &= distance >= sigmas
        skewed = always & (plain >= least_from_start)
        # As large as it is for certain; and no chance, however large: batches may be uneven.
        skewed &= _distance(plain, error, scale, half=True) >= sigmas
        skewed &= (plain - CERTAIN * error >= least_from_start) | (plain >= 2 * least_from_start)
        # What ranks always were is their median over all steps, not that of the newest few.
        skewed &= ~usual.known | (base >= 1 + least_from_start)
        skewed &= ~usual.habit | (plain >= 2 * least_from_start)
    alone = np.zeros(len(ratio), np.bool_)
    if isolated:
        alone = always & _isolated(plain, error, role_of, scale)
        # What a rank always was is not what its newest few steps are.
        alone &= _isolated(np.where(usual.known, base - 1, plain), error, role_of, scale)
    rows = np.flatnonzero(slower | ((skewed | alone) & same))
    if not len(rows):
        return None
    effect = np.where(slower, np.nan_to_num(grown), np.nan_to_num(plain))
    needed = np.where(slower, scale.least, np.where(alone, scale.least_alone, least_from_start))
    small = np.full(len(ratio), scale.least < SHORT.least)
    sure = np.zeros(len(ratio), np.bool_)
    sure[rows] = (~slower | (distance >= sigmas + BEYOND_CHANCE))[rows]
    return OutstandingRanks(
        rows, effect, np.where(slower, base, 1.0), effect / needed, small, sure, count
    )


def by_chance(ratio: Floats, usual: UsualRatios, found: OutstandingRanks) -> float:
    """Return how probable such steps in a row are for any rank, by the steps before them.

    A chain of two states: how often a step of a rank stands out by half as much as the ranks that
    were found, and how often another one follows it. Noise has a spread, stray delays have none.
    """
    effect = float(found.effect[found.rows].max())
    past = ratio[:, -NOISE_STEPS : -found.count]
    with np.errstate(invalid="ignore"):
        odd = past > (usual.ratio * (1 + effect / 2))[:, None]
    count = int(odd.sum())
    single = (count + 1) / (int(np.isfinite(past).sum()) + 2)
    follows = (int((odd[:, 1:] & odd[:, :-1]).sum()) + 0.1) / (count + 1)
    return float(len(ratio) * single * max(single, follows) ** (found.count - 1))


def noise(ratio: Floats, role_of: Ints) -> Floats:
    """Return [ranks], how far a rank's ratio strays from step to step, as a standard deviation.

    By the differences of pairs of ranks of one role over the steps before: few pairs
    have a slow rank in them, and what all do together is no noise. Among few ranks the peers'
    own noise adds to it.
    """
    _, role, size = np.unique(role_of, return_inverse=True, return_counts=True)
    order = np.argsort(role, kind="stable")
    # Half a role apart: neighbours may share their batches.
    half = (size // 2)[role[order]]
    first = np.flatnonzero(np.arange(len(order)) - (np.cumsum(size) - size)[role[order]] < half)
    if len(first) > NOISE_PAIRS:
        first = first[np.linspace(0, len(first) - 1, NOISE_PAIRS).astype(np.int64)]
    past = ratio[:, -NOISE_STEPS:]
    apart = past[order[first]] - past[order[first + half[first]]]
    away = medians.median(np.abs(apart - medians.median(apart, axis=1)[:, None]), axis=1)
    away = away[np.isfinite(away)]
    # Of few steps the deviation is too small: one of them is the median itself.
    few = past.shape[1] / max(past.shape[1] - 0.8, 1.0)
    single = medians.OF_MAD * few * medians.middle(away) / math.sqrt(2) if len(away) else 0.0
    return single * np.sqrt(1 + 1 / np.maximum(size - 1, 1))[role]


def wandering(
    ratio: Floats, usual: UsualRatios, count: int, suspects: Flags, error: float, sigmas: float
) -> float:
    """Return how far the level of a stretch of `count` steps strays, beyond the noise of its steps.

    As a standard deviation, over stretches of the ranks that are no suspects: they were healthy,
    so that those that strayed far count in full, and who is to stand out at `sigmas` has to stand
    clearly above the farthest. Where little is known shorter stretches are looked at.
    error: what the noise of single steps leaves of a stretch.
    """
    length = min(max(count // 2, 1), ratio.shape[1] // FEWEST_STRETCHES)
    many = min(ratio.shape[1] // length, STRETCHES) if length else 0
    if not many or suspects.all():
        return 0.0
    past = ratio[~suspects, ratio.shape[1] - many * length :]
    level = medians.median(past.reshape(len(past), many, length), axis=2)
    centre = np.where(usual.known, usual.ratio, np.nan)[~suspects]
    centre = np.where(np.isfinite(centre), centre, medians.median(level, axis=1))
    away = level / centre[:, None] - 1
    away = away[np.isfinite(away)]
    if not len(away):
        return 0.0
    strays = max(float(np.mean(away**2)), (ABOVE_FARTHEST * float(away.max()) / sigmas) ** 2)
    return math.sqrt(max(strays - error**2 * count / length, 0.0))


def _distance(excess: Floats, error: Floats, scale: SearchScale, *, half: bool) -> Floats:
    """Return [ranks], how many standard errors an excess stands above that of the other ranks.

    By the healthy half, so that the affected do not hide themselves.
    """
    valid = np.sort(excess[np.isfinite(excess)])
    valid = valid[: max(len(valid) // 2, 1)] if half else valid
    centre = medians.middle(valid) if len(valid) else 0.0
    middle = max(centre, 0.0) if half else centre  # the lower half of noise is below what is usual
    spread = medians.spread(valid)
    distance: Floats = (excess - middle) / np.sqrt(error**2 + spread**2 + scale.certainty**2)
    return distance


def _any_beyond(plain: Floats, role_of: Ints, among: Flags, scale: SearchScale) -> bool:
    """Tell whether any of these ranks is as far beyond its role as `_isolated` asks for."""
    for role in compute_time.roles(role_of):
        rows = np.flatnonzero((role_of == role) & np.isfinite(plain))
        if len(rows) >= ISOLATED_PEERS:
            beyond = plain[rows] - medians.middle(plain[rows])
            if (among[rows] & (beyond >= scale.least_alone)).any():
                return True
    return False


def _isolated(plain: Floats, error: Floats, role_of: Ints, scale: SearchScale) -> Flags:
    """Tell who stands out from all ranks of the role, and with few others."""
    alone = np.zeros(len(plain), np.bool_)
    for role in compute_time.roles(role_of):
        rows = np.flatnonzero((role_of == role) & np.isfinite(plain))
        if len(rows) < ISOLATED_PEERS:
            continue
        beyond = plain[rows] - medians.middle(plain[rows])
        far = _distance(plain[rows], error[rows], scale, half=False) >= ISOLATED_SIGMAS
        far &= beyond >= scale.least_alone
        if (beyond >= scale.least_alone / 2).sum() <= max(1.0, ISOLATED_SHARE * len(rows)):
            alone[rows[far]] = True
    return alone
