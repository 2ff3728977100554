"""Ranks that work longer at every so many steps, while their peers wait."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import announced, compute_time, durations, medians, parts
from ..contract import Detector
from ..features import DATA
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow, StepValues

_OUTSIDE = (DATA, "training.checkpoint.duration", "training.gc.duration")
"""Parts of a step that have detectors of their own."""


class PeriodicWorkDetector(Detector):
    """Name a rank, usually rank 0, that does something of its own at regular steps.

    What a rank does in a step (the step less the waits; compute time where waits are not reported)
    over the healthy peers of its role. A step stands out for a rank when this excess is a share of
    the usual step, half of what the rank's costly steps take, and far beyond how much it usually
    varies. The rank is named when its steps
    that stand out are few, come at equal distances (gathering metrics every 50 steps, writing a
    checkpoint alone), and cost the job `least` of its time together. A job that has always done so
    was made so, and short checkpoints by one rank are normal life: below `least_from_start` it is
    info. So is what the job always did every `seldom` seconds or more seldom, whatever it costs:
    evaluations and checkpoints come minutes apart, and how long they take was the owner's choice.
    A device that is slow now and then keeps no such distance; garbage collection and
    checkpoints that are timed are left out, and so is a rank that announces what it does then.

    Parameters
    ----------
    least : share of the job's time that it must cost.
    least_from_start : share from which on it is a warning where the job did so from its first steps
        on. A tenth is what checkpoints that all ranks wait for are commonly allowed to take.
    seldom : seconds from one such step to the next from which on it counts as an evaluation or a
        checkpoint. Metrics are gathered every few steps, seconds apart.
    apart : share of the usual step by which a step must stand out.
    regular : share of the distances that must be equal, to within a tenth or one step.

    Examples
    --------
    Rank 0 works 2 s longer at every tenth step of 1 s.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.full((4, 100), 0.8)
    >>> own[0, ::10] += 2.0
    >>> for finding in PeriodicWorkDetector().evaluate(sketch(own)):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.19
    rank.periodic_work rank 0 on host-0 2.00

    Fails where the work waits inside a collective (then all ranks' steps are long alike), and with
    fewer than four such steps in what is held.

    Source: a rank 0 that logs, saves or gathers joins every collective last.
    """

    name = "periodic_work"
    kinds = ("job.slow", "rank.periodic_work")
    cadence_seconds = 10.0
    of_steps = True

    def __init__(
        self,
        *,
        least: float = 0.05,
        least_from_start: float = 0.1,
        seldom: float = 120.0,
        apart: float = 0.3,
        regular: float = 0.75,
    ) -> None:
        self.least = least
        self.least_from_start = least_from_start
        self.seldom = seldom
        self.apart = apart
        self.regular = regular

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return a finding on the rank that costs most, and the slowness that it causes."""
        steps = parts.steps_to_compare(window)
        if steps is None or len(steps.index) < 40:
            return []
        # The others wait for it: where no step of the job is long, nobody works longer.
        seconds = window.features.duration[parts.WARM_UP :]
        with np.errstate(invalid="ignore"):
            long = seconds > (1 + self.apart / 2) * medians.median(seconds, axis=0)
        work = _work(steps) if long.sum() >= 4 else None
        if work is None:
            return []
        work = work[:, parts.WARM_UP :]
        peers = np.full(work.shape, np.nan)
        for role in np.unique(window.role_of):
            rows = np.flatnonzero(window.role_of == role)
            if len(rows) > 1:
                peers[rows] = compute_time.low_quantile(work[rows])
        ends = compute_time.step_ends(steps)[parts.WARM_UP :]
        total = float(ends[-1] - ends[0])
        usual = parts.step_seconds(steps)
        excess = np.nan_to_num(work - peers)
        odd = _largest(excess, excess > self.apart * usual)
        count = odd.sum(axis=1)
        cost = np.where(odd, excess, 0.0).sum(axis=1)
        rows = np.flatnonzero((count >= 4) & (count <= 0.34 * odd.shape[1]))
        rows = rows[cost[rows] >= self.least * total]
        # One rank does it: where several do, nobody does work of its own.
        if not 0 < len(rows) <= max(1, len(count) / 8):
            return []
        row = int(rows[np.lexsort((window.ranks[rows], -cost[rows]))[0]])
        planned = announced.pauses(window, rank=int(window.ranks[row]))[parts.WARM_UP :]
        if (odd[row] & planned).sum() > odd[row].sum() / 2:
            return []
        begun = self._regular_since(steps.index[parts.WARM_UP :], odd[row])
        spread = medians.spread(excess[row])
        extra = medians.middle(excess[row][odd[row]])
        if begun is None or extra < 8 * spread:
            return []
        at, before = float(ends[begun]), float(ends[max(begun - 1, 0)])
        onset = (min(before, at), at)
        lost = float(cost[row]) / total
        index = steps.index[parts.WARM_UP :]
        rank, every = int(window.ranks[row]), _every(index[odd[row]])
        chosen = lost < self.least_from_start or every * usual >= self.seldom
        habit = chosen and _always(index, np.isfinite(work[row]), int(index[begun]), every)
        what = f"rank {rank} works {durations.seconds(extra)} longer at every {every:.0f}. step"
        return [
            report(
                window,
                self.name,
                "job.slow",
                window.entity,
                onset=onset,
                magnitude=1 / (1 - min(lost, 0.95)),
                score=0.5 if habit else max(lost / self.least, 1.0),
                signal=compute_time.STEP,
                observed=total / len(ends),
                expected=total / len(ends) * (1 - min(lost, 0.95)),
                text=f"{what}, which takes {lost:.0%} of the job's time",
                ranks=(rank,),
            ),
            report(
                window,
                self.name,
                "rank.periodic_work",
                window.rank_entity(row),
                onset=onset,
                magnitude=extra,
                score=lost / self.least,
                signal=compute_time.STEP,
                observed=extra,
                expected=0.0,
                text=what,
            ),
        ]

    def _regular_since(self, index: np.ndarray, odd: np.ndarray) -> int | None:
        """Return the first column that stands out, None where distances are not equal."""
        columns = np.flatnonzero(odd)
        columns = columns[np.diff(columns, prepend=-2) > 1]
        gaps = np.diff(index[columns])
        if len(gaps) < 3:
            return None
        usual = medians.middle(gaps)
        equal = np.abs(gaps - usual) <= max(0.1 * usual, 1.0)
        ongoing = index[-1] - index[columns[-1]] <= 1.5 * usual
        if usual < 3 or equal.mean() < self.regular or not ongoing:
            return None
        return int(columns[0])


def _largest(excess: Floats, odd: Flags) -> Flags:
    """Return which of the steps that stand out are not small against those that cost most.

    On a shared CPU any step may take a third longer now and then; the mean excess weighted by
    itself is that of the steps in which the time goes.
    """
    chosen = np.where(odd, excess, 0.0)
    total = chosen.sum(axis=1)
    scale = (chosen**2).sum(axis=1) / np.where(total > 0, total, 1.0)
    largest: Flags = odd & (excess > scale[:, None] / 2)
    return largest


def _always(index: Ints, known: Flags, first: int, every: float) -> bool:
    """Tell whether no such step can have come before the first that stands out.

    index, known: [steps], numbers of the steps, and whether the rank's work in them is known; a
    report that was lost may have held one.
    """
    before = first - int(every)
    near = np.abs(index - before) <= max(0.1 * every, 1.0)
    return before < int(index[0]) or not (near.any() and known[near].all())


def _every(index: np.ndarray) -> float:
    gaps = np.diff(index)
    return medians.middle(gaps[gaps > 1])


def _work(steps: StepValues) -> Floats | None:
    """Return [ranks, steps], what each rank did in a step; None where nobody reports it.

    A pause between two steps comes with one of them and is no part of its time: what is left of the
    step is no less than what the rank usually computes.
    """
    if not (steps.has(compute_time.STEP) and steps.has(compute_time.COMM)):
        return compute_time.compute_time(steps)
    left = steps.plane(compute_time.STEP) - steps.plane(compute_time.COMM)
    for name in _OUTSIDE:
        if name in steps.planes:
            left = left - np.nan_to_num(steps.planes[name])
    if compute_time.COMPUTE in steps.planes:
        compute = np.where(np.isfinite(left), steps.planes[compute_time.COMPUTE], np.nan)
        left = np.fmax(left, np.minimum(compute, medians.median(compute, axis=1)[:, None]))
    return np.where(np.abs(left) < compute_time.MOST, np.maximum(left, 0.0), np.nan)
