"""Short pauses of a different rank each time, which all others wait for: garbage collection."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ranks import Ranks
from .. import durations, onsets, own_time
from ..contract import Detector
from ..features import DATA
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow, Steps

GC = "training.gc.duration"

CELLS = 1 << 21
"""Cells of [ranks, steps] that are looked at; of large jobs fewer steps."""

USUAL_STEPS, FEWEST_STEPS, FEWEST_PAUSES = 20, 10, 7
"""Steps that are looked at where `seconds` hold fewer; as few will do early in an attempt; steps of
them that must wait for a pause."""

WARM_UP = 5
"""Steps at the start of an attempt that say nothing."""

BARELY = 0.9
"""Score of what is information."""

MEASURED = 3.0
"""Score of collections that ranks have timed: what they cost is measured and not inferred."""

MOST_TIMES = 3.0
"""A pause counts up to so many times the median one: a single long one is another matter."""


ONE_HOST, MOST_OF_RANKS = 0.9, 0.5
"""Share of the pauses from which on they are those of one host, if it has at most so many of the
ranks: seven pauses or more fall so by chance once in a hundred times."""


class RotatingPauses(Detector):
    """Say that ranks pause in turn, and what the job loses by it.

    A rank's time outside collectives and data loading, less that of its peers in the same step and
    less its own median, is a pause where it exceeds six times the noise of all ranks and a
    twentieth of the step. In a synchronous job every step waits for the longest pause in it: the
    job loses the mean of these. The pauses rotate when no rank has more than half of them and three
    ranks or more have some, so that no rank is to blame. A program runs on every host: where all of
    them are on one of several, it is that host that stops its processes. Where ranks report their
    garbage collection, what the longest collection of each step costs is said as well. Stray pauses
    are more the more ranks there are: what they have cost since the first steps is information.

    Parameters
    ----------
    least : smallest share of the time that the job must lose.
    seconds : how much of the newest past is looked at.

    Examples
    --------
    At each third step another one of eight ranks stops for 0.4 s.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (8, 90))
    >>> for step in range(0, 90, 3):
    ...     own[step * 5 % 8, step] += 0.4
    >>> for finding in RotatingPauses().evaluate(sketch(own)):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.13
    job.rotating_pauses job example 0.12

    Fails where pauses are too rare to cost `least`, and cannot tell garbage collection from another
    pause of the process where nobody reports it.

    References: What-if analysis of stragglers (OSDI'25): synchronised collection gains 12.6 %;
    MegaScale (NSDI'24).
    """

    name = "rotating_pauses"
    kinds = ("job.slow", "job.rotating_pauses", "host.pauses", "job.gc_pauses")
    cadence_seconds = 10.0
    of_steps = True

    def __init__(self, *, least: float = 0.04, seconds: float = 120.0) -> None:
        self.least = least
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness and what it is made of, all on the job."""
        steps = window.features.steps
        if len(window.ranks) < 2 or window.features.stale:
            return []
        count = own_time.recent_count(window, seconds=self.seconds, fewest=USUAL_STEPS)
        count = min(count, max(CELLS // len(window.ranks), USUAL_STEPS), len(steps.index) - 5)
        if count < FEWEST_STEPS:
            return []
        recent = steps.last(count)
        step = own_time.median(window.features.duration[None, -count:], axis=1)[0]
        if not step > 0:
            return []
        findings: list[Finding] = []
        collected = self._collected(window, recent, float(step), findings)
        lost = max(collected, self._rotating(window, recent, findings))
        if not findings:
            return []
        known = collected > 0 or not self._always(window, count, lost)
        lost, onset = min(lost, 0.95), min(finding.onset for finding in findings)
        # A step is as long as it is because of the pauses in most of them.
        usual = _mean_step(window.features.duration[-count:])
        slow = self._report(
            window, recent, onset, "job.slow", 1 / (1 - lost), lost, own_time.STEP,
            f"steps take {durations.seconds(usual)}; without pauses of its ranks they would take "
            f"{durations.seconds(usual * (1 - lost))}",
        )  # fmt: skip
        held = (found.entity.ranks for found in findings if found.kind == "host.pauses")
        score = slow.score if known else min(slow.score, BARELY)
        return [replace(slow, score=score, ranks=next(held, Ranks())), *findings]

    def _always(self, window: JobWindow, count: int, lost: float) -> bool:
        """Tell whether the job has lost half as much since its first steps, or has just begun."""
        last = max(len(window.features.steps.index) - count, WARM_UP)
        first = max(last - count, WARM_UP)
        if last - first < FEWEST_STEPS:
            return True
        before = window.features.steps.cut(first, last)
        turns = _turns(before, window, window.features.duration[first:last])
        return turns is not None and turns.lost >= lost / 2

    def _rotating(self, window: JobWindow, recent: Steps, out: list[Finding]) -> float:
        """Add the finding on pauses that rotate, if they do; return the share that is lost."""
        turns = _turns(recent, window, window.features.duration[-len(recent.index) :])
        if turns is None or not self.least <= turns.lost < 1:
            return 0.0
        beyond, late, longest, lost = turns.beyond, turns.late, turns.longest, turns.lost
        by_rank = late.sum(axis=1)
        share = float((longest > 0).mean())
        ranks = int((by_rank > 0).sum())
        text = (
            f"{ranks} ranks pause in turn, {durations.seconds(float(np.median(beyond[late])))} "
            f"at a time: "
            f"{100 * share:.0f} % of the steps wait for one, {100 * lost:.0f} % of the time is lost"
        )
        host = _only_host(window, by_rank)
        kind, signal = ("job.rotating_pauses" if host is None else "host.pauses"), own_time.STEP
        found = self._report(
            window, recent, _onset(recent, longest), kind, lost, lost, signal, text
        )
        if host is not None:
            found = replace(
                found, entity=host, text=f"{text}; they are all on one of {len(window.hosts)} hosts"
            )
        out.append(found)
        return lost

    def _collected(
        self, window: JobWindow, recent: Steps, step: float, out: list[Finding]
    ) -> float:
        """Add the finding on garbage collection, if it costs; return the share that is lost."""
        if not recent.has(GC):
            return 0.0
        held = recent.plane(GC)
        held = np.where(np.isfinite(held) & (held < own_time.MOST), held, 0.0)
        longest = held.max(axis=0)
        whole = float(np.nansum(window.features.duration[-held.shape[1] :]))
        lost = float(longest.sum()) / whole if whole > 0 else 0.0
        if not self.least <= lost < 1 or (longest > 0.02 * step).sum() < 3:
            return 0.0
        text = (
            f"garbage collection stops a rank for {durations.seconds(float(np.max(longest)))} at "
            f"most and "
            f"{durations.seconds(float(longest.mean()))} in an average step: {100 * lost:.0f} % "
            f"of the time"
        )
        onset = _onset(recent, longest)
        found = self._report(window, recent, onset, "job.gc_pauses", lost, lost, GC, text)
        out.append(replace(found, score=max(found.score, MEASURED)))
        return lost

    def _report(
        self,
        window: JobWindow,
        recent: Steps,
        onset: tuple[float, float],
        kind: str,
        magnitude: float,
        lost: float,
        signal: str,
        text: str,
    ) -> Finding:
        ends = own_time.step_ends(recent)
        seen = (float(np.nanmin(ends)), float(np.nanmax(ends)))
        return report(
            window,
            self.name,
            kind,
            window.entity,
            onset=onset,
            seen=seen,
            magnitude=magnitude,
            score=max(lost / self.least, 1.0),
            signal=signal,
            observed=lost,
            expected=0.0,
            text=text,
        )


@dataclass(frozen=True, slots=True)
class _Turns:
    """Pauses in turn: [ranks, steps] seconds beyond peers and habit, and which of them are pauses.

    longest: [steps], the pause that each waits for, in seconds; lost: share of the time.
    """

    beyond: Floats
    late: Flags
    longest: Floats
    lost: float


def _turns(some: Steps, window: JobWindow, duration: Floats) -> _Turns | None:
    """Return the pauses that rotate in some steps, None where they do not; duration: of these."""
    pauses = _pauses(some, window)
    if pauses is None:
        return None
    beyond, late = pauses
    # A pause of many at once is no turn: an evaluation, a checkpoint, the network.
    late = late & (late.sum(axis=0) <= max(1, len(late) // 4))
    by_rank, steps = late.sum(axis=1), int(late.any(axis=0).sum())
    total = int(by_rank.sum())
    if steps < FEWEST_PAUSES or (by_rank > 0).sum() < 3 or by_rank.max() > 0.5 * total:
        return None
    # What lasts is no pause: nobody pauses in most steps, and most steps of a rank are usual.
    if by_rank.max() > 0.5 * late.shape[1]:
        return None
    longest = np.max(np.where(late, beyond, 0.0), axis=0)
    longest = np.minimum(longest, MOST_TIMES * float(np.median(longest[longest > 0])))
    whole = float(np.nansum(duration))
    return _Turns(beyond, late, longest, float(longest.sum()) / whole if whole > 0 else 0.0)


def _pauses(recent: Steps, window: JobWindow) -> tuple[Floats, Flags] | None:
    """Return ([ranks, steps] seconds beyond peers and habit, which of them are pauses)."""
    plane = own_time.COMM if recent.has(own_time.COMM) and recent.has(own_time.STEP) else None
    plane = plane or own_time.own_plane(recent)
    if plane is None or plane == own_time.STEP:
        return None
    own = own_time.own_seconds(recent, plane)
    if plane == own_time.COMM and DATA in recent.planes:
        own = own - np.nan_to_num(recent.planes[DATA])
    own = own_time.per_token(own, recent)
    beyond = np.full(own.shape, np.nan)
    for role in np.unique(window.role_of):
        rows = np.flatnonzero(window.role_of == role)
        if len(rows) > 1:
            beyond[rows] = own[rows] - own_time.median(own[rows], axis=0)
    beyond = beyond - own_time.median(beyond, axis=1)[:, None]
    valid = np.abs(beyond[np.isfinite(beyond)])
    if len(valid) < FEWEST_STEPS:
        return None
    noise = 1.4826 * float(np.median(valid))
    step = float(np.nanmedian(own))
    with np.errstate(invalid="ignore"):
        late = beyond > max(6 * noise, 0.05 * step)
    return beyond, late


def _only_host(window: JobWindow, by_rank: Ints) -> Entity | None:
    """Return the one of several hosts that has nearly all of the pauses, [ranks], None if none."""
    placed = np.flatnonzero(window.host_of >= 0)
    if len(window.hosts) < 2 or not len(placed):
        return None
    pauses = np.bincount(window.host_of[placed], by_rank[placed])
    host = int(pauses.argmax())
    share = float((window.host_of == host).mean())
    if pauses[host] < ONE_HOST * by_rank.sum() or share > MOST_OF_RANKS:
        return None
    return window.host_entity(host)


def _onset(recent: Steps, lost: Floats) -> tuple[float, float]:
    """Return the ends of the steps between which the losses, [steps] in seconds, began."""
    ends = own_time.step_ends(recent)
    usual = float(lost.mean())
    first = onsets.change_point(lost, usual / 2, 2 * usual)
    return float(ends[max(first - 1, 0)]), float(ends[first])


def _mean_step(duration: Floats) -> float:
    valid = duration[np.isfinite(duration)]
    return float(valid.mean()) if len(valid) else float("nan")
