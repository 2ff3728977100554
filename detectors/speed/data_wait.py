"""Ranks that wait for their next batch while their peers have theirs."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians, parts
from ..contract import Detector
from ..features import DATA
from ..findings import report
from ..window import Floats, JobWindow, StepValues
from . import data_share
from .data_share import JobWait

MOSTLY = 0.7
"""Share of the time beyond usual that names what it is spent with."""

MOST_RANKS = 2 / 3
"""Where more ranks wait longer than they used to, the job starves."""

SMALL_SECONDS, SMALL_STEPS = 45.0, 12
"""How much of the newest past small effects are looked for in."""

LITTLE_SCORE = 0.9
"""Score of a job that waits a little longer than it used to: worth knowing (alerts/severity.py)."""

ALWAYS_SECONDS, ALWAYS_STEPS = 60.0, 20
"""How long the job must have waited where nobody knows what is usual for it."""

LONGEST = 2.0
"""Nobody waits in a step for so many times the time since the step before: that is another unit."""


class DataWaitDetector(Detector):
    """Name the ranks whose data loader keeps a synchronous job waiting.

    The wait for the next batch of the newest steps, over that of peers with the same parallel
    role (of a rank that has none, over its own) and the rank's own early habit, as a share of the
    step. The peers must wait in collectives meanwhile, where those are reported. Where the waits of
    all have grown, they share the cause, and a rank stands out only by more than that growth. Where
    more than two thirds of the ranks wait longer than they used to, nobody stands out: the job
    starves (a file system, too few workers), which is info below `starved`, and so does one that
    has waited for a good part of its steps since it began; where one rank alone reports waits and
    step times, that is told from half of them on. Waits that come at every k-th step are
    those for k workers.

    Parameters
    ----------
    least : smallest excess, as a share of the step, where the rank's habit is known.
    least_from_start : smallest excess where it is not.
    starved : share of the step that the median rank must wait for data, and twice what is usual.
    always : share of the step for a job that has waited as long ever since it began.
    least_small : smallest excess that lasts for most steps of 45 s, and twelve at least.
    over_at : when the job was over, where that is known, s since the epoch: no step came after, and
        a few steps in a row are enough where several wait.

    Examples
    --------
    Rank 2 waits 0.4 s for each batch from step 40 on, its peers next to nothing.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.full((4, 60), 0.8)
    >>> wait = np.full((4, 60), 0.01)
    >>> wait[2, 40:] = 0.4
    >>> window = sketch(own + wait, planes={DATA: wait, "training.compute.duration": own})
    >>> for finding in DataWaitDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}")
    job.slow job example 1.39
    rank.data_wait rank 2 on host-1 0.40

    Fails where loaders are not timed, and cannot see what the loader waits for: its workers, its
    CPU or its storage.

    References: MegaScale (NSDI'24) and What-if analysis of stragglers (OSDI'25) for data loaders
    among the causes.
    """

    name = "data_wait"
    kinds = ("job.slow", "rank.data_wait", "job.data_wait", "job.data_lost")
    cadence_seconds = 5.0
    of_steps = True

    def __init__(
        self,
        *,
        least: float = 0.08,
        least_from_start: float = 0.2,
        starved: float = 0.2,
        always: float = 0.35,
        least_small: float = 0.04,
        over_at: float = math.inf,
    ) -> None:
        self.least = least
        self.least_small = least_small
        self.least_from_start = least_from_start
        self.starved = starved
        self.always = always
        self.over_at = over_at

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return findings on ranks and the slowness they cause, or on a job that starves."""
        return self._compared(window) or self._reported(window)

    def _compared(self, window: JobWindow) -> Sequence[Finding]:
        steps = parts.steps_to_compare(window)
        if steps is None or not steps.has(DATA):
            return []
        apart = np.diff(compute_time.step_ends(steps), prepend=np.nan)
        wait = steps.plane(DATA)
        with np.errstate(invalid="ignore"):
            wait = np.where((apart > 0) & (wait > LONGEST * apart), np.nan, wait)
        found = self._excess(window, steps, wait)
        if found is None:
            return self._starved(window, steps, wait)
        slow = parts.slowed(
            window, self.name, found, least=self.least, without="the wait of {} for data"
        )
        return [slow, *(self._rank(window, found, int(row)) for row in found.rows)]

    def _excess(
        self, window: JobWindow, steps: StepValues, wait: Floats
    ) -> parts.PartExcess | None:
        """Return the ranks that wait: for much in the newest steps, or for little in a minute."""
        bounds = parts.ExcessBounds(
            least=self.least, least_from_start=self.least_from_start,
            most=MOST_RANKS, alone=True, together=True,
        )  # fmt: skip
        found = parts.excess(window, steps, wait, bounds)
        if found is not None or self.least_small >= self.least:
            return found
        small = replace(
            bounds,
            least=self.least_small, persistence=0.6, seconds=SMALL_SECONDS, fewest=SMALL_STEPS,
        )  # fmt: skip
        return parts.excess(window, steps, wait, small)

    def _rank(self, window: JobWindow, found: parts.PartExcess, row: int) -> Finding:
        seen, peers = float(found.seconds[row]), float(found.peers[row])
        return report(
            window,
            self.name,
            "rank.data_wait",
            window.rank_entity(row),
            onset=found.onset(),
            seen=found.seen(),
            magnitude=seen,
            score=max(float(found.effect[row]) / (self.least * found.step), 1.0),
            signal=DATA,
            observed=seen,
            expected=peers,
            text=f"rank {int(window.ranks[row])} waits {durations.seconds(seen)} for data in a "
            f"step, its peers {durations.seconds(peers)}",
        )

    def _usual(self, wait: Floats, count: int) -> float:
        """Return the median rank's wait early in the attempt, 0 where too few steps are known."""
        early = wait[:, parts.WARM_UP : -count][:, : parts.HABIT]
        if early.shape[1] <= 2 * parts.FEWEST:
            return 0.0
        habit = parts.habit_of(early, count)
        return medians.known(habit) if np.isfinite(habit).any() else 0.0

    def _starves_a_little(
        self, window: JobWindow, steps: StepValues, wait: Floats
    ) -> tuple[int, float, float, float] | None:
        """Return (steps, wait, step, usual wait) where all wait a little longer for a minute."""
        count = compute_time.recent_count(window.steps, seconds=SMALL_SECONDS, fewest=SMALL_STEPS)
        if count > len(steps.index) - parts.WARM_UP:
            return None
        seen, step = _waited(steps.last(count), wait[:, -count:])
        if not seen >= self.least_small * step:
            return None
        usual = self._usual(wait, count)
        grown = usual > 0 and seen >= 2 * usual and seen - usual >= self.least_small * step
        return (count, seen, step, usual) if grown and _lasts(wait, count, usual, seen) else None

    def _starved(self, window: JobWindow, steps: StepValues, wait: Floats) -> list[Finding]:
        """Return that most ranks wait for data: more than they used to, or much all along."""
        count = parts.newest(window, steps)
        seen, step = _waited(steps.last(count), wait[:, -count:])
        usual = self._usual(wait, count) if seen >= self.starved * step else np.inf
        little = False
        if seen < 2 * usual:
            small = self._starves_a_little(window, steps, wait)
            little = small is not None
            if small is not None:
                count, seen, step, usual = small
        if not little and seen < 2 * usual:
            count = compute_time.recent_count(
                window.steps, seconds=ALWAYS_SECONDS, fewest=ALWAYS_STEPS
            )
            if count > len(steps.index) - parts.WARM_UP:
                return []
            seen, step = _waited(steps.last(count), wait[:, -count:])
            usual = 0.0
            if not seen >= self.always * step:
                return []
        recent = steps.last(count)
        at = recent.at[np.isfinite(recent.at)]
        every = _every(wait[:, -count:])
        waits = JobWait(seen, step, usual, float(at.min()), float(at.max()), little)
        before = window.features.duration[parts.WARM_UP : -count][: parts.HABIT]
        before = before[np.isfinite(before)]
        grown = step - medians.middle(before) if usual and len(before) else waits.lost
        return self._starves(
            window, waits, grown=grown, rhythm=f", at every {every}th step" if every else ""
        )

    def _reported(self, window: JobWindow) -> list[Finding]:
        """Return that steps are mostly wait by the job's own reports of both, whoever makes them.

        One rank that waits is enough: its peers have to wait for it. Reports are those of single
        steps or means over many, as a log has them.
        """
        waits = data_share.reported(window.features.steps, over=window.now >= self.over_at)
        if waits is None or window.features.stale:
            return []
        return self._starves(window, waits, grown=waits.lost, rhythm="")

    def _starves(
        self, window: JobWindow, waits: JobWait, *, grown: float, rhythm: str
    ) -> list[Finding]:
        """Return the findings on a job whose steps wait; `grown`: seconds a step beyond usual."""
        seen, step, usual, lost = waits.seen, waits.step, waits.usual, waits.lost

        def say(kind: str, magnitude: float, score: float, text: str) -> Finding:
            slow = kind == "job.slow"
            return report(
                window,
                self.name,
                kind,
                window.entity,
                onset=(waits.begin, waits.end) if usual else waits.begin,
                seen=(waits.begin, waits.end),
                magnitude=magnitude,
                score=score,
                signal=compute_time.STEP if slow else DATA,
                observed=step if slow else seen,
                expected=step - lost if slow else usual,
                text=text,
            )

        share = lost / step
        found = [
            say("job.slow", step / (step - lost),
                LITTLE_SCORE if waits.little else max(share / self.starved, 1.0),
                f"steps take {durations.seconds(step)}; without the wait for data they would take "
                f"{durations.seconds(step - lost)}"),
            say("job.data_wait", seen, min(seen / step / self.starved, 5.0),
                f"ranks wait {durations.seconds(seen)} for data in a step of "
                f"{durations.seconds(step)} (usual: {durations.seconds(usual)}){rhythm}"),
        ]  # fmt: skip
        if lost >= MOSTLY * grown:
            found.append(
                say("job.data_lost", share, 3.0,
                    f"{100 * min(lost / max(grown, 1e-9), 1.0):.0f} % of what steps take beyond "
                    "usual is wait for data")
            )  # fmt: skip
        return found


def _lasts(wait: Floats, count: int, usual: float, seen: float) -> bool:
    """Tell whether the median rank waits longer in most of the newest steps, and hardly before."""
    by_step = medians.median(wait, axis=0)
    with np.errstate(invalid="ignore"):
        odd = (by_step > (usual + seen) / 2)[parts.WARM_UP :]
    early = odd[:-count][: parts.HABIT]
    return bool(odd[-count:].mean() >= MOSTLY) and bool(early.mean() <= 1 - MOSTLY)


def _waited(recent: StepValues, wait: Floats) -> tuple[float, float]:
    """Return the median rank's mean wait in the newest steps, and the mean step, in seconds."""
    seconds = parts.mean(wait)
    known = np.isfinite(seconds)
    step = parts.step_seconds(recent)
    ends = compute_time.step_ends(recent)
    ends = ends[np.isfinite(ends)]
    if len(ends) > 1:  # waits come at some steps only: the mean counts
        step = max(step, float(ends[-1] - ends[0]) / (len(ends) - 1))
    if not step > 0 or known.sum() < 2:
        return 0.0, 1.0
    seen = medians.middle(seconds[known])
    return (seen, step) if seen < compute_time.MOST else (0.0, step)


def _every(wait: Floats) -> int:
    """Return the number of steps between waits where it is always the same, 0 otherwise.

    So many workers prepare one batch each, one after the other: the job waits once in a round.
    """
    by_step = medians.median(wait, axis=0)
    valid = by_step[np.isfinite(by_step)]
    if len(valid) < ALWAYS_STEPS or not valid.max() > 0:
        return 0
    places = np.flatnonzero(valid > 0.5 * float(valid.max()))
    gaps = np.diff(places)
    if len(gaps) < 2 or gaps.min() != gaps.max() or gaps[0] < 2:
        return 0
    return int(gaps[0])
