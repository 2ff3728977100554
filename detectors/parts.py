"""A part of the step that only some ranks spend: what they need more than their peers, and lasting.

Used by the detectors of waiting for data and of extra work. Durations are means and not medians:
a loader that stalls at every eighth batch costs the job as much as one that is late each time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..vocabulary.findings import Finding
from . import compute_time, durations, medians, onsets
from .findings import report
from .window import Flags, Floats, Ints, JobWindow, StepValues

SIGMAS = 4.0
"""How far beyond the noise of healthy ranks an effect must stand."""

SECONDS, FEWEST, WARM_UP, HABIT = 10.0, 5, 5, 100
"""How much of the newest past is looked at, in time and steps; steps at the start of an attempt
that say nothing about anybody; steps after them that a rank's habit is learnt from."""

AS_WELL = 0.25
"""Others are slower as well where they grew by so much of the excess."""

FEWEST_LONG = 3
"""So many of the newest steps must stand out: two long reads within seconds are chance."""

ROUNDED = 1 - 1e-9
"""What is below this share of a bound is below it however sums are rounded."""

LONGEST = 0.8
"""Share of the steps in which who stands out among them must be the slowest."""


@dataclass(frozen=True, slots=True)
class PartExcess:
    """Ranks that stand out in one part of the step.

    rows: those that do. seconds, peers: [ranks], the part's mean in the newest steps, and what
    peers of the same role need. effect: [ranks], seconds a step beyond peers and habit. first: the
    column where the first of them began. step: usual step time now (s). recent: the newest steps.
    """

    rows: Ints
    seconds: Floats
    peers: Floats
    effect: Floats
    first: int
    step: float
    recent: StepValues
    steps: StepValues

    @property
    def lost(self) -> float:
        """Return the seconds a step that the job would gain without the excess."""
        return min(float(self.effect[self.rows].max()), 0.95 * self.step)

    def seen(self) -> tuple[float, float]:
        """Return the time range of the newest steps."""
        at = self.recent.at[np.isfinite(self.recent.at)]
        return float(at.min()), float(at.max())

    def onset(self) -> tuple[float, float]:
        """Return the ends of the last usual step and of the first step that stands out."""
        ends = compute_time.step_ends(self.steps)
        at = float(ends[self.first])
        before = float(ends[max(self.first - 1, 0)])
        return (min(before, at), at)


def steps_to_compare(window: JobWindow) -> StepValues | None:
    """Return the completed steps, None where there are too few or they are too old."""
    steps = window.features.steps
    if len(window.ranks) < 2 or len(steps.index) < FEWEST + WARM_UP:
        return None
    return None if window.features.stale else steps


def newest(
    window: JobWindow, steps: StepValues, *, seconds: float = SECONDS, fewest: int = FEWEST
) -> int:
    """Return how many of the newest steps are looked at."""
    count = compute_time.recent_count(window.steps, seconds=seconds, fewest=fewest)
    return min(count, len(steps.index) - WARM_UP)


def step_seconds(steps: StepValues) -> float:
    """Return the median step time; NaN where nobody reports it."""
    ends = compute_time.step_ends(steps)
    ends = ends[np.isfinite(ends)]
    if len(ends) > 1:
        return medians.middle(ends[1:] - ends[:-1])
    valid = steps.plane(compute_time.STEP)
    return medians.known(valid)


def mean(values: Floats) -> Floats:
    """Return [ranks], the mean of the newest steps without each rank's largest one; NaN: none."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    largest = np.max(np.where(known, values, 0.0), axis=1, initial=0.0)
    total = np.where(known, values, 0.0).sum(axis=1) - largest
    return np.where(count > 1, total / np.maximum(count - 1, 1), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessBounds:
    """Whose excess stands out.

    least, least_from_start: share of the step, where the rank's habit is known and where it is not.
    persistence: share of the newest steps in which it must. seconds, fewest: how much of the newest
    past is looked at. Nobody stands out when more than a third of the ranks do, or `most` of them
    where all of these spend more than they used to. alone: a rank whose role has no other one, or
    grew as a whole (its ranks lie on one host) while others did not, is compared with its own
    habit. together: what grew for all of a role has a cause that they share, and a rank stands out
    only by more than that, and where it is longest step after step. always: how many times
    `least_from_start` a rank must spend that was so all along, where its habit is known.
    """

    least: float
    least_from_start: float
    persistence: float = 0.3
    seconds: float = SECONDS
    fewest: int = FEWEST
    most: float = 1 / 3
    alone: bool = False
    together: bool = False
    always: float = 1.6


@dataclass(slots=True)
class _UsualSeconds:
    """What is usual for each rank, all [ranks] and in seconds but for flags.

    habit: what it spent early, NaN unknown. known: whose habit is. more: how much more than its
    peers' habit that is, 0 unknown. peers: what peers spend now. below: [ranks, newest steps], what
    peers spend in each. whole: whose role grew as a whole.
    """

    habit: Floats
    known: Flags
    more: Floats
    peers: Floats
    below: Floats
    whole: Flags


def excess(
    window: JobWindow,
    steps: StepValues,
    part: Floats,
    bounds: ExcessBounds,
    *,
    roles: Ints | None = None,
) -> PartExcess | None:
    """Return the few ranks that spend more on a part of the step than their peers and than before.

    part: [ranks, steps], seconds. roles: [ranks], who is compared with whom; None: ranks of one
    role.
    """
    roles = window.role_of if roles is None else roles
    least, from_start = bounds.least, bounds.least_from_start
    count = newest(window, steps, seconds=bounds.seconds, fewest=bounds.fewest)
    recent = steps.last(count)
    step = step_seconds(recent)
    newly = part[:, -count:]
    if not stands_out(roles, step, newly, least=min(least, from_start), alone=bounds.alone):
        return None
    part = np.where(np.abs(part) < compute_time.MOST, part, np.nan)
    newly = part[:, -count:]
    spent = mean(newly)
    usual = _usual(part, spent, count, roles, alone_from=least * step if bounds.alone else None)
    beyond = spent - usual.peers
    effect = beyond - np.maximum(usual.more, 0.0)
    with np.errstate(invalid="ignore"):
        often = (newly - usual.below > effect[:, None] / 3).sum(axis=1)
        grown = effect >= np.where(usual.known, least, from_start) * step
        # One that was so all along, and is still far beyond its peers, stands out as well.
        odd = grown | (beyond >= bounds.always * from_start * step)
        effect = np.where(effect >= least * step, effect, beyond)
        odd &= (often >= max(bounds.persistence * count, FEWEST_LONG)) & (
            effect >= SIGMAS * _noise(newly, spent, usual.peers)
        )
        if bounds.together:
            shared = np.where(usual.known & grown, _peers(spent - usual.habit, roles), usual.peers)
            shared = np.where(usual.whole, 0.0, shared)
            odd &= ~(effect < shared)
            many = odd & (shared >= AS_WELL * effect)
            if many.any() and not _always_longest(newly, many):
                odd &= ~many
    rows = np.flatnonzero(odd & np.isfinite(effect))
    share = bounds.most if bool((usual.known & grown)[rows].all()) else 1 / 3
    if not len(rows) or len(rows) > max(1, len(spent) * share):
        return None
    if not _waited_for(recent, rows, step):
        return None
    limit = usual.peers + effect / 2
    with np.errstate(invalid="ignore"):
        # Of a rank that itself spends more than it used to; its peers may spend less meanwhile.
        itself = usual.known & (spent - usual.habit >= effect / 3)
        limit = np.where(itself, np.fmax(limit, (usual.habit + spent) / 2), limit)
    first = min(_first(part[row], float(limit[row]), float(effect[row]), count) for row in rows)
    return PartExcess(rows, spent, usual.peers, effect, first, step, recent, steps)


def _usual(
    part: Floats, spent: Floats, count: int, roles: Ints, *, alone_from: float | None
) -> _UsualSeconds:
    """Return what is usual. part: [ranks, steps]. spent: [ranks], its mean in `count` newest steps.

    alone_from: growth (s) from which a role as a whole, or its only rank, is compared with its own
    habit; None: never.
    """
    early = part[:, WARM_UP:-count][:, :HABIT]
    found = _UsualSeconds(
        habit=np.full(len(spent), np.nan),
        known=np.isfinite(early).sum(axis=1) >= FEWEST,
        more=np.zeros(len(spent)),
        peers=_peers(spent, roles),
        below=_below(part[:, -count:], spent, roles),
        whole=np.zeros(len(spent), np.bool_),
    )
    if not early.shape[1]:
        return found
    habit = found.habit = habit_of(early, count)
    found.more = np.where(found.known, np.nan_to_num(habit - _middle(habit, roles)), 0.0)
    if alone_from is None:
        return found
    single = found.known & ~np.isfinite(found.peers) & np.isfinite(spent)
    peers = np.where(single, habit, found.peers)
    below = np.where(single[:, None], habit[:, None], found.below)
    growth = np.where(found.known, spent - habit, np.nan)
    whole, usually = _grown_whole(growth, roles, alone_from)
    found.whole = whole
    found.peers = np.where(whole, habit + usually, peers)
    found.below = np.where(whole[:, None], found.peers[:, None], below)
    found.more = np.where(whole, 0.0, found.more)
    return found


def stands_out(
    roles: Ints, step: float, newly: Floats, *, least: float, alone: bool = False
) -> bool:
    """Tell whether anybody may stand out by a share of the step (s), whatever is usual.

    roles: [ranks]. newly: [ranks, newest steps], seconds. A habit only lowers the effect, so what
    is False here needs no past. alone: as `excess` has it.
    """
    if not step > 0 or _little(newly, least * step):
        return False
    seconds = mean(np.where(np.abs(newly) < compute_time.MOST, newly, np.nan))
    peers = _peers(seconds, roles)
    if alone:
        peers = np.where(np.isfinite(peers) | ~np.isfinite(seconds), peers, 0.0)
        peers = np.fmin(peers, _low(seconds))
    most = np.max(seconds - peers, initial=-np.inf, where=np.isfinite(peers))
    return bool(most >= least * step)


def _little(newly: Floats, least: float) -> bool:
    """Tell whether no value is as much as `least`: then nor is a mean beyond that of peers."""
    lowest = np.fmin.reduce(newly, axis=None, initial=np.inf)
    return bool(lowest >= 0) and bool(
        np.fmax.reduce(newly, axis=None, initial=-np.inf) < ROUNDED * least
    )


def habit_of(early: Floats, count: int) -> Floats:
    """Return [ranks], the lower third of the means of blocks of steps.

    Blocks of `count` steps hold bursts as the newest steps do; a fault that fills half of the range
    changes nothing.
    """
    blocks = max(early.shape[1] // max(count, 1), 1)
    size = early.shape[1] // blocks
    means = [mean(early[:, number * size : (number + 1) * size]) for number in range(blocks)]
    ordered = np.sort(np.stack(means, axis=1), axis=1)  # NaN last
    place = np.maximum(np.isfinite(ordered).sum(axis=1) - 1, 0) // 3
    habit: Floats = ordered[np.arange(len(ordered)), place]
    return habit


def _noise(newly: Floats, seconds: Floats, peers: Floats) -> float:
    """Return how far the mean of a healthy rank strays (s): from step to step, and between ranks.

    By the healthier half of the ranks, so that those who stand out do not hide themselves.
    """
    reported = np.isfinite(seconds)
    recent = newly[reported]
    recent = np.where(np.isfinite(recent), recent, seconds[reported, None])
    spread = np.sqrt(recent.var(axis=1) / max(newly.shape[1], 1))
    beyond = np.sort((seconds - peers)[np.isfinite(seconds - peers)])
    half = beyond[: max((len(beyond) + 1) // 2, 1)]
    between = medians.spread(half)
    calm = np.sort(spread)[: (len(spread) + 1) // 2]
    within = medians.middle(calm) if len(calm) else 0.0
    return float(np.hypot(within, between))


def _peers(seconds: Floats, role_of: Ints) -> Floats:
    """Return [ranks], what peers of a rank's role need on average; NaN for a role of one rank."""
    peers = np.full(len(seconds), np.nan)
    for rows in _roles(seconds, role_of):
        peers[rows] = _low(seconds[rows])
    return peers


def _low(seconds: Floats) -> float:
    """Return the healthy quantile of all ranks that report, NaN where none does."""
    known = seconds[np.isfinite(seconds)]
    if not len(known):
        return float("nan")
    return float(np.quantile(known, compute_time.HEALTHY_QUANTILE, method="lower"))


def _grown_whole(growth: Floats, roles: Ints, least: float) -> tuple[Flags, float]:
    """Return [ranks], whose role grew as a whole by `least` (s) more than ranks usually did.

    growth: [ranks], seconds beyond their habit. And the seconds that all grew by.
    """
    usually = max(_low(growth), 0.0) if np.isfinite(growth).any() else 0.0
    with np.errstate(invalid="ignore"):
        return _peers(growth, roles) - usually >= least, usually


def _below(newly: Floats, seconds: Floats, role_of: Ints) -> Floats:
    """Return [ranks, steps], what peers of a rank's role need in each of the newest steps."""
    below = np.full(newly.shape, np.nan)
    for rows in _roles(seconds, role_of):
        below[rows] = compute_time.low_quantile(newly[rows])
    return below


def _roles(seconds: Floats, role_of: Ints) -> Iterator[Ints]:
    """Yield the rows of each role of which two at least report."""
    known = np.isfinite(seconds)
    for role in compute_time.roles(role_of):
        rows = np.flatnonzero((role_of == role) & known)
        if len(rows) > 1:
            yield rows


def _middle(values: Floats, role_of: Ints) -> Floats:
    """Return [ranks], the median of each rank's role."""
    middle = np.zeros(len(values))
    for role in compute_time.roles(role_of):
        rows = np.flatnonzero((role_of == role) & np.isfinite(values))
        if len(rows):
            middle[rows] = medians.middle(values[rows])
    return middle


def _always_longest(newly: Floats, rows: Flags) -> bool:
    """Tell whether some of these ranks need longest in nearly every step.

    Where all are slower by one cause, who is slowest changes from step to step.
    """
    known = np.where(np.isfinite(newly), newly, -np.inf)
    mine = known[rows].max(axis=0)
    others = known[~rows].max(axis=0, initial=-np.inf)
    return bool((mine > others).mean() >= LONGEST)


def _waited_for(recent: StepValues, rows: Ints, step: float) -> bool:
    """Tell whether the others wait in collectives, and longer than these; True if nobody reports.

    A rank that merely has time to spare keeps nobody waiting.
    """
    wait = mean(recent.plane(compute_time.COMM))
    others = np.setdiff1d(np.flatnonzero(np.isfinite(wait)), rows)
    mine = wait[rows][np.isfinite(wait[rows])]
    if not len(others) or not len(mine):
        return True
    return bool(np.median(wait[others]) - mine.min() >= 0.03 * step)


def _first(values: Floats, limit: float, effect: float, count: int) -> int:
    """Return the first column of the newest run above a limit; bursts are joined.

    An excess in nearly all steps began where these together stand farthest above the limit: single
    values of before are noise.
    """
    with np.errstate(invalid="ignore"):
        odd: Flags = values > limit
    if not odd.any():
        return len(values) - count
    first = onsets.newest_run(odd, ends_after=max(onsets.ENDS_AFTER, count))
    if odd[-count:].mean() < onsets.ODD_SHARE:
        return first
    run = np.where(np.isfinite(values[first:]), values[first:], limit)
    return first + onsets.change_point(run, limit, effect)


def slowed(
    window: JobWindow, detector: str, found: PartExcess, *, least: float, without: str
) -> Finding:
    """Return the symptom that the excess of these ranks makes steps longer.

    `without` says without what they would be shorter; {} in it is filled with the ranks.
    """
    ranks = window.ranks[found.rows].tolist()
    named = f"rank {ranks[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    shorter = found.step - found.lost
    return report(
        window,
        detector,
        "job.slow",
        window.entity,
        onset=found.onset(),
        seen=found.seen(),
        magnitude=found.step / shorter,
        score=max(found.lost / found.step / least, 1.0),
        signal=compute_time.STEP,
        observed=found.step,
        expected=shorter,
        text=f"steps take {durations.seconds(found.step)}; without {without.format(named)} they "
        f"would take {durations.seconds(shorter)}",
        ranks=ranks,
    )
