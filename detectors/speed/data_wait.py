"""Ranks that wait for their next batch while their peers have theirs."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import own_time, parts
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow, Steps

DATA = "training.data.duration"


class DataWait(Detector):
    """Name the ranks whose data loader keeps a synchronous job waiting.

    The wait for the next batch of the newest steps, over that of peers with the same parallel
    role and the rank's own early habit, as a share of the step. The peers must wait in collectives
    meanwhile, where those are reported. Where most ranks wait alike and longer than they used to,
    nobody stands out: that is evidence about the job (a file system, too few workers).

    Parameters
    ----------
    least : smallest excess, as a share of the step, where the rank's habit is known.
    least_from_start : smallest excess where it is not.
    starved : share of the step that the median rank must wait for data to speak of the job.

    Examples
    --------
    Rank 2 waits 0.4 s for each batch from step 40 on, its peers next to nothing.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.full((4, 60), 0.8)
    >>> wait = np.full((4, 60), 0.01)
    >>> wait[2, 40:] = 0.4
    >>> window = sketch(own + wait, planes={DATA: wait, "training.compute.duration": own})
    >>> for finding in DataWait().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.39
    rank.data_wait rank 2 on host-1 0.40

    Fails where loaders are not timed, and cannot see what the loader waits for: its workers, its
    CPU or its storage.

    References: facts on training signals (what a step is made of); MegaScale (NSDI'24) and
    What-if analysis of stragglers (OSDI'25) for data loaders among the causes.
    """

    name = "data_wait"
    kinds = ("job.slow", "rank.data_wait", "job.data_wait")

    def __init__(
        self, *, least: float = 0.08, least_from_start: float = 0.2, starved: float = 0.2
    ) -> None:
        self.least = least
        self.least_from_start = least_from_start
        self.starved = starved

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks and the slowness they cause, or one on a job that starves."""
        steps = parts.steps_to_compare(window)
        if steps is None or not steps.has(DATA):
            return []
        wait = steps.plane(DATA)
        found = parts.excess(
            window, steps, wait, least=self.least, least_from_start=self.least_from_start
        )
        if found is None:
            return self._starved(window, steps, wait)
        slow = parts.slowed(
            window, self.name, found, least=self.least, without="the wait of {} for data"
        )
        return [slow, *(self._rank(window, found, int(row)) for row in found.rows)]

    def _rank(self, window: JobWindow, found: parts.Excess, row: int) -> Finding:
        seen, peers = float(found.seconds[row]), float(found.peers[row])
        return report(
            window,
            self.name,
            "rank.data_wait",
            window.rank_entity(row),
            onset=found.onset(),
            seen=found.seen(),
            magnitude=seen,
            score=float(found.effect[row]) / (self.least * found.step),
            signal=DATA,
            observed=seen,
            expected=peers,
            text=f"rank {int(window.ranks[row])} waits {seen:.3g} s for data in a step, its peers "
            f"{peers:.3g} s",
        )

    def _starved(self, window: JobWindow, steps: Steps, wait: Floats) -> list[Finding]:
        """Return that most ranks wait for data, more than they used to."""
        count = parts.newest(window, steps)
        recent = steps.last(count)
        step = parts.step_seconds(recent)
        seconds = parts.mean(wait[:, -count:])
        known = np.isfinite(seconds)
        if not step > 0 or known.sum() < 2:
            return []
        seen = float(np.median(seconds[known]))
        if not seen < own_time.MOST or seen < self.starved * step:
            return []
        early = wait[:, parts.WARM_UP : -count][:, : parts.HABIT]
        long = early.shape[1] > 2 * parts.FEWEST
        habit = parts.habit_of(early, count) if long else np.full(1, np.nan)
        usual = float(np.median(habit[np.isfinite(habit)])) if np.isfinite(habit).any() else 0.0
        if seen < 2 * usual:
            return []
        at = recent.at[np.isfinite(recent.at)]
        return [
            report(
                window,
                self.name,
                "job.data_wait",
                window.entity,
                onset=(float(at.min()), float(at.max())),
                seen=(float(at.min()), float(at.max())),
                magnitude=seen,
                score=min(seen / step / self.starved, 5.0),
                signal=DATA,
                observed=seen,
                expected=usual,
                text=f"ranks wait {seen:.3g} s for data in a step of {step:.3g} s "
                f"(usual: {usual:.2g} s)",
            )
        ]
