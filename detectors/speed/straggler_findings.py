"""What is said of ranks that stand out: who is slow, who waits least, what it costs the job."""

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians
from ..findings import INFORMATION, report
from ..window import Floats, Ints, JobWindow, StepValues
from .excess import OutstandingRanks
from .scales import SHORT

DETECTOR = "stragglers"


def slow_rank(
    window: JobWindow,
    steps: StepValues,
    own: Floats,
    row: int,
    found: OutstandingRanks,
    first: int,
    healthy: float,
    *,
    detector: str = DETECTOR,
) -> Finding:
    """Return that a rank's own work takes longer than its peers'.

    own: [ranks, steps], own seconds. row, first: which rank, and the column in which its excess
    began. healthy: own seconds of its healthy peers.
    """
    at = steps.at[row]
    onset = float(at[first])
    valid = at[:first][np.isfinite(at[:first])]
    before = float(valid[-1]) if len(valid) else onset
    # Of a rank that reports late, newer steps are still under way.
    reported = np.flatnonzero(np.isfinite(at + own[row]))[-found.count :]
    seen, effect = medians.known(own[row, reported]), float(found.effect[row])
    rank = int(window.ranks[row])
    text = (
        f"rank {rank} needs {100 * effect:.0f} % more for its own work than its peers, again "
        "and again"
        if row in found.since
        else f"rank {rank} needs {durations.seconds(seen)} for its own work in a step, its peers "
        f"{durations.seconds(healthy)} ({100 * effect:.0f} % more)"
    )
    return report(
        window,
        detector,
        "rank.slow_compute",
        window.rank_entity(row),
        onset=(min(before, onset), onset),
        seen=(float(at[reported].min()), float(at[reported].max())),
        magnitude=1 + effect,
        score=float(found.score[row]),
        signal=compute_time.COMPUTE if steps.has(compute_time.COMPUTE) else compute_time.STEP,
        observed=seen,
        expected=healthy,
        text=text,
    )


def waits_least(
    window: JobWindow, steps: StepValues, rows: Ints, named: Ints, count: int
) -> list[Finding]:
    """Return the ranks that wait less in collectives than the others, who wait for them.

    rows: the ranks that stand out; named: those of them that get a finding; count: newest steps.
    """
    if not steps.has(compute_time.COMM):
        return []
    wait = medians.median(steps.plane(compute_time.COMM)[:, -count:], axis=1)
    others = np.setdiff1d(np.arange(len(wait)), rows)
    if not np.isfinite(wait[others]).any():
        return []
    step = _step_seconds(steps, count, wait[None, :])
    if not step > 0:
        return []
    theirs = medians.known(wait[others])
    findings = []
    for row in named:
        gap = (theirs - wait[row]) / step
        if not gap >= 0.03:
            continue
        at = steps.at[row, -count:]
        seen = (float(np.nanmin(at)), float(np.nanmax(at)))
        findings.append(
            report(
                window,
                DETECTOR,
                "rank.waits_least",
                window.rank_entity(int(row)),
                onset=seen,
                seen=seen,
                magnitude=theirs - float(wait[row]),
                score=float(gap / 0.03),
                signal=compute_time.COMM,
                observed=float(wait[row]),
                expected=theirs,
                text=f"rank {int(window.ranks[row])} waits {durations.seconds(float(wait[row]))} "
                f"in collectives, its peers {durations.seconds(theirs)}: they wait for it",
            )
        )
    return findings


def slow_job(
    window: JobWindow,
    steps: StepValues,
    own: Floats,
    ratio: Floats,
    found: OutstandingRanks,
    first: int,
    *,
    least: float,
    warm_up: int,
    detector: str = DETECTOR,
) -> list[Finding]:
    """Return the symptom: how much shorter steps would be without the slow ranks' excess.

    least: smallest excess that lasts for a minute, of which half must be lost; warm_up: steps at
    the start that say nothing.
    """
    count, rows = found.count, found.rows
    recent = own[:, -count:]
    with np.errstate(invalid="ignore", divide="ignore"):
        beyond = recent[rows] * (1 - 1 / ratio[rows, -count:])
    step = _step_seconds(steps, count, recent.T)
    excess = medians.highest(beyond, axis=0)
    lost = max(min(medians.known(excess), 0.95 * step), 0.0)
    share = lost / step if step > 0 else 0.0
    again = rows[[int(row) in found.since for row in rows]]
    if share < least / 2 and not len(again):
        return []
    if not found.sure[rows].any() and not _grown(window, excess, lost):
        return []  # among hours of windows chance puts a rank there, but lengthens no step
    at = compute_time.step_ends(steps)
    onset = float(at[first])
    # Cards differ by a few percent from the first step on: worth knowing, and no page.
    least_score = 0.0 if first <= warm_up + count and not len(again) else 1.0
    return [
        report(
            window,
            detector,
            "job.slow",
            window.entity,
            onset=(min(float(at[max(first - 1, 0)]), onset), onset),
            seen=(float(at[-count]), float(at[-1])),
            magnitude=1 / (1 - share),
            score=INFORMATION if found.first else max(share / SHORT.least, least_score),
            signal=compute_time.STEP,
            observed=step,
            expected=step - lost,
            text=f"steps take {durations.seconds(step)}; without the excess of its slowest ranks "
            f"they would take {durations.seconds(step - lost)}",
            ranks=window.ranks[rows].tolist(),
        )
    ]


def _grown(window: JobWindow, excess: Floats, lost: float) -> bool:
    """Tell whether the newest steps take longer than usual, by half of what is lost at least.

    True where nobody can tell. It is independent of how far a rank stands above its peers: of few
    peers these may have been fast by chance. excess: [newest steps], the slow ranks' in each. What
    grew by more than that and what is lost holds something else, as a pause, and says nothing.
    """
    pace = window.baselines.pace
    if pace is None or pace.ranks != len(window.ranks):
        return True
    grown = window.features.job_duration[-len(excess) :] - pace.seconds
    with np.errstate(invalid="ignore"):
        longer = medians.known(grown[~(grown > excess + lost)])
    return not longer < lost / 2


def healthy_seconds(own: Floats, role_of: Ints, rows: Ints) -> dict[int, float]:
    """Return the healthy own seconds of the newest steps, by the roles of these rows."""
    return {
        int(role): medians.known(compute_time.low_quantile(own[role_of == role]))
        for role in np.unique(role_of[rows])
    }


def _step_seconds(steps: StepValues, count: int, stand_in: Floats) -> float:
    """Return the recent step time; the median of the rows' highest where nobody reports it."""
    valid = steps.plane(compute_time.STEP)[:, -count:]
    return medians.known(valid if np.isfinite(valid).any() else medians.highest(stand_in, 1))
