"""Short pauses of a different rank each time, which all others wait for: garbage collection."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ranks import RankSet
from .. import compute_time, durations, medians, onsets
from ..contract import Detector
from ..findings import INFORMATION, report
from ..window import Floats, Ints, JobWindow, StepValues
from .turns import FEWEST_PAUSES, FEWEST_STEPS, MOST_TIMES, late_steps, longest_of, turns

GC = "training.gc.duration"

CELLS = 1 << 21
"""Cells of [ranks, steps] that are looked at; of large jobs fewer steps."""

USUAL_STEPS = 20
"""Steps that are looked at where `seconds` hold fewer."""

WARM_UP = 5
"""Steps at the start of an attempt that say nothing."""

SIGMAS = 3.0
"""By so many standard deviations of their number pauses have become more than they were."""

LONGER_SIGMAS = 4.0
"""By so many they have become longer: stray pauses are of any length."""

MEASURED = 3.0
"""Score of collections that ranks have timed: what they cost is measured and not inferred."""

ALWAYS_TIMES = 1.5
"""So many times the least share must collections cost that were no cheaper in the first steps."""

ONE_HOST, MOST_OF_RANKS = 0.9, 0.5
"""Share of the pauses from which on they are those of one host, if it has at most so many of the
ranks: seven pauses or more fall so by chance once in a hundred times."""


class RotatingPausesDetector(Detector):
    """Say that ranks pause in turn, and what the job loses by it.

    A rank's time outside collectives and data loading, less that of its peers in the same step and
    less its own median, is a pause where it exceeds six times the noise of all ranks and a
    twentieth of the step. In a synchronous job every step waits for the longest pause in it: the
    job loses the mean of these. The pauses rotate when no rank has more than half of them and three
    ranks or more have some, so that no rank is to blame. A program runs on every host: where all of
    them are on one of several, it is that host that stops its processes. Where ranks report their
    garbage collection, what the longest collection of each step costs is said as well. Stray pauses
    are more the more ranks there are, as every process is held up now and then: what nobody has
    timed must have grown by `least`, or cost `least_from_start`, which is information where the job
    has always lost it. Collections that always cost up to 1.5 times `least` are information too.

    Parameters
    ----------
    least : smallest share of the time that the job must lose.
    least_from_start : the same for pauses that nobody timed, of a job that has always had them.
    seconds : how much of the newest past is looked at.

    Examples
    --------
    At each third step another one of eight ranks stops for 0.4 s.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (8, 90))
    >>> for step in range(0, 90, 3):
    ...     own[step * 5 % 8, step] += 0.4
    >>> for finding in RotatingPausesDetector().evaluate(sketch(own)):
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

    def __init__(
        self, *, least: float = 0.04, least_from_start: float = 0.1, seconds: float = 120.0
    ) -> None:
        self.least = least
        self.least_from_start = least_from_start
        self.seconds = seconds

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the slowness and what it is made of, all on the job."""
        steps = window.features.steps
        if len(window.ranks) < 2 or window.features.stale:
            return []
        count = compute_time.recent_count(window.steps, seconds=self.seconds, fewest=USUAL_STEPS)
        count = min(count, max(CELLS // len(window.ranks), USUAL_STEPS), len(steps.index) - 5)
        if count < FEWEST_STEPS:
            return []
        recent = steps.last(count)
        step = medians.median(window.features.duration[None, -count:], axis=1)[0]
        if not step > 0:
            return []
        findings: list[Finding] = []
        collected = self._collected(window, recent, float(step), findings)
        lost = max(collected, self._rotating(window, recent, findings))
        if not findings:
            return []
        held = [found.entity.ranks for found in findings if found.kind == "host.pauses"]
        if collected > 0:
            cost_before = _cost_before(window, recent)
            known = collected >= ALWAYS_TIMES * self.least or cost_before < collected / 2
        else:
            known = self._grew(window, recent, lost)
            if not (known or held or lost >= self.least_from_start):
                return []
        lost, onset = min(lost, 0.95), min(finding.onset for finding in findings)
        # A step is as long as it is because of the pauses in most of them.
        usual = _mean_step(window.features.duration[-count:])
        slow = self._report(
            window, recent, onset, "job.slow", 1 / (1 - lost), lost, compute_time.STEP,
            f"steps take {durations.seconds(usual)}; without pauses of its ranks they would take "
            f"{durations.seconds(usual * (1 - lost))}",
        )  # fmt: skip
        score = slow.score if known else min(slow.score, INFORMATION)
        return [replace(slow, score=score, ranks=held[0] if held else RankSet()), *findings]

    def _grew(self, window: JobWindow, recent: StepValues, lost: float) -> bool:
        """Tell whether more steps wait for a pause than before, or longer, at a cost of `least`.

        By the oldest steps that are held: of a job that has just begun nobody knows. Few pauses are
        more or fewer by chance, and of any length.
        """
        last = _oldest(window, recent)
        held = [
            late_steps(window.features.steps.cut(WARM_UP, last), window),
            late_steps(recent, window),
        ]
        if last - WARM_UP < FEWEST_STEPS or held[0] is None or held[1] is None:
            return False
        then, now = (longest_of(*pauses) for pauses in held if pauses is not None)
        times = len(now) / len(then)
        most = MOST_TIMES * medians.middle(now[now > 0])
        cost_before = float(np.minimum(then, most).sum()) * times
        if lost * (1 - cost_before / float(np.minimum(now, most).sum())) < self.least:
            return False
        before, since = int((then > 0).sum()), int((now > 0).sum())
        more = since - before * times >= SIGMAS * math.sqrt(since + before * times**2)
        if before < FEWEST_PAUSES or more:
            return more
        return _above(now[now > 0], then[then > 0]) >= LONGER_SIGMAS

    def _rotating(self, window: JobWindow, recent: StepValues, out: list[Finding]) -> float:
        """Add the finding on pauses that rotate, if they do; return the share that is lost."""
        found = turns(recent, window, window.features.duration[-len(recent.index) :])
        if found is None or not self.least <= found.lost < 1:
            return 0.0
        beyond, late, longest, lost = found.beyond, found.late, found.longest, found.lost
        by_rank = late.sum(axis=1)
        share = float((longest > 0).mean())
        ranks = int((by_rank > 0).sum())
        text = (
            f"{ranks} ranks pause in turn, {durations.seconds(medians.middle(beyond[late]))} "
            f"at a time: "
            f"{100 * share:.0f} % of the steps wait for one, {100 * lost:.0f} % of the time is lost"
        )
        host = _only_host(window, by_rank)
        kind, signal = ("job.rotating_pauses" if host is None else "host.pauses"), compute_time.STEP
        said = self._report(window, recent, _onset(recent, longest), kind, lost, lost, signal, text)
        if host is not None:
            said = replace(
                said, entity=host, text=f"{text}; they are all on one of {len(window.hosts)} hosts"
            )
        out.append(said)
        return lost

    def _collected(
        self, window: JobWindow, recent: StepValues, step: float, out: list[Finding]
    ) -> float:
        """Add the finding on garbage collection, if it costs; return the share that is lost."""
        if not recent.has(GC):
            return 0.0
        longest, lost = _collections(recent, window.features.duration[-len(recent.index) :])
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
        recent: StepValues,
        onset: tuple[float, float],
        kind: str,
        magnitude: float,
        lost: float,
        signal: str,
        text: str,
    ) -> Finding:
        ends = compute_time.step_ends(recent)
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


def _above(now: Floats, then: Floats) -> float:
    """Return by how many standard deviations values lie above earlier ones, by their ranks.

    Mann and Whitney's test, which makes nothing of a few values whatever they are.
    """
    pairs = len(now) * len(then)
    above = float(np.searchsorted(np.sort(then), now).sum()) / pairs
    return (above - 0.5) / math.sqrt((len(now) + len(then) + 1) / (12 * pairs))


def _collections(steps: StepValues, duration: Floats) -> tuple[Floats, float]:
    """Return [steps], the longest collection of a rank (s), and the share of the time they take.

    Of a step with another pause in it, as an evaluation, the usual step counts.
    """
    held = steps.plane(GC)
    longest = np.where(np.isfinite(held) & (held < compute_time.MOST), held, 0.0).max(axis=0)
    usual = medians.known(duration)
    whole = float(np.nansum(np.minimum(duration, longest + 2 * usual)))
    return longest, float(longest.sum()) / whole if whole > 0 else 0.0


def _oldest(window: JobWindow, recent: StepValues) -> int:
    """Return the column where the oldest steps end, to compare with: twice as many at most."""
    size = len(recent.index)
    return min(max(len(window.features.steps.index) - size, WARM_UP), WARM_UP + 2 * size)


def _cost_before(window: JobWindow, recent: StepValues) -> float:
    """Return the share that collections took of the oldest steps; inf where nobody can tell."""
    last = _oldest(window, recent)
    duration = window.features.duration[WARM_UP:last]
    if last - WARM_UP < FEWEST_STEPS or not np.nansum(duration) > 0:
        return math.inf
    return _collections(window.features.steps.cut(WARM_UP, last), duration)[1]


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


def _onset(recent: StepValues, lost: Floats) -> tuple[float, float]:
    """Return the ends of the steps between which the losses, [steps] in seconds, began."""
    ends = compute_time.step_ends(recent)
    usual = float(lost.mean())
    first = onsets.change_point(lost, usual / 2, 2 * usual)
    return float(ends[max(first - 1, 0)]), float(ends[first])


def _mean_step(duration: Floats) -> float:
    valid = duration[np.isfinite(duration)]
    return float(valid.mean()) if len(valid) else float("nan")
