"""Ranks that step on alone while most of their peers stand still.

A rank that no longer calls the collective that its peers wait in still ends steps, so that the
job's newest step is always young. What stands still is most of its ranks.
"""

from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..window import Flags, Floats, GroupProgress, Ints, JobWindow
from . import pauses, stops
from .progress import AGE, newest_report
from .stall_signs import StalledWindow

STEPS_ALONE = "rank.steps_alone"

LEAST, STEPS = 9.5, 2.5
"""Seconds, and usual steps, without a step from which on a rank stands still."""

_FRESH_SECONDS = 7.5
"""A rank's report that is older than this says nothing about now: they come every 5 s."""

_OWN_SECONDS = 5.0
"""A rank stands still if its own report is so long after its last step, or later."""

_FEWEST_STEPS = 3
"""So many steps that others did not end are no delay of a report."""

_COMPARED = 32
_TOGETHER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class PartedJob:
    """A job whose ranks no longer go together.

    last: when the last of those that stand still ended its last step, s since the epoch. alone:
    rows that ended further steps. standing: [ranks], which stand still. reporting: how many ranks
    are known to do either.
    """

    last: float
    alone: Ints
    standing: Flags
    reporting: int


def last_step(window: JobWindow) -> float:
    """Return when a step last ended on most ranks, s since the epoch; -inf if never."""
    parted = find(window)
    if parted is not None:
        return parted.last
    ends = compute_time.step_ends(window.steps)
    ends = ends[np.isfinite(ends)]
    return float(ends[-1]) if len(ends) else -np.inf


def find(window: JobWindow, *, least: float = LEAST, steps: float = STEPS) -> PartedJob | None:
    """Return who stands still and who steps on, None where all do the same.

    least: seconds without a step from which on a rank stands still; at least `steps` usual ones.
    Half of the ranks or more must stand, and the ranks must have ended their steps together before:
    ranks that never wait for each other may do as they like. Where counters of collectives are
    reported, those that stand must be inside one; of two halves the one is parted whose counters
    are behind.
    """
    return window.features.once((PartedJob, least, steps), lambda: _found(window, least, steps))


def _found(window: JobWindow, least: float, steps: float) -> PartedJob | None:
    reported = window.rank_readings.get(AGE)
    if reported is None or len(window.ranks) < 2:
        return None
    newest = newest_report(window)
    age, at = reported.latest()
    known = (at > newest - _FRESH_SECONDS) & np.isfinite(age)
    standing = known & (age >= _OWN_SECONDS) & (at - age <= newest - least)
    if not _most(standing, known):
        return None
    known &= ~np.isin(window.ranks, sorted(stops.ended(window)))
    ended = medians.highest(window.steps.at, axis=1) if window.steps.at.size else np.nan * age
    ended = np.fmax(ended, at - age)
    standing &= known & (ended <= newest - least)
    if not _most(standing, known):
        return None
    last = float(ended[standing].max())
    usual = _usual(window, last)
    if newest - last < max(least, steps * usual) or not _together(window, last, usual):
        return None
    # What they ended before those that stand still last said so: of later steps others may have yet
    # to report theirs.
    until = float(at[standing].min())
    further = ((window.steps.at > last + usual / 2) & (window.steps.at <= until)).sum(axis=1)
    alone = np.flatnonzero(known & ~standing & (further >= _FEWEST_STEPS))
    if not len(alone) or pauses.phase(window) in ("eval", "checkpoint", "shutdown"):
        return None
    found = PartedJob(last, alone, standing, int(known.sum()))
    return found if _inside(window, found) else None


def signs(stall: StalledWindow, parted: PartedJob | None) -> list[Finding]:
    """Return the ranks that step on alone."""
    if parted is None:
        return []
    window = stall.window
    index = window.steps.index
    found: list[Finding] = []
    for row in parted.alone.tolist():
        valid = np.isfinite(window.steps.at[row])
        newest = int(index[valid].max())
        count = int((window.steps.at[row] > stall.last + stall.usual / 2).sum())
        text = (
            f"rank {int(window.ranks[row])} has ended {count} steps since, {newest} the last, and "
            f"{int(parted.standing.sum())} of {parted.reporting} ranks none: it no longer calls "
            "the collectives that they wait in"
        )
        found.append(stall.sign(row, STEPS_ALONE, "training.step", float(count), 0.0, 3.0, text))
    return found


def _most(standing: Flags, known: Flags) -> bool:
    """Tell whether half or more stand, and not all: that is another matter."""
    count, reporting = int(standing.sum()), int(known.sum())
    return 2 * count >= reporting > count > 0


def _usual(window: JobWindow, last: float) -> float:
    """Return the median time between steps until `last`, s; infinite where there were too few."""
    ends = compute_time.step_ends(window.steps)
    ends = np.maximum.accumulate(ends[np.isfinite(ends) & (ends <= last)])
    return medians.middle(np.diff(ends)[-200:]) if len(ends) > 2 else np.inf


def _together(window: JobWindow, last: float, usual: float) -> bool:
    """Tell whether all ranks ended each of the newest steps until `last` at about the same time."""
    ends = compute_time.step_ends(window.steps)
    before = np.flatnonzero(ends <= last)[-_COMPARED:]
    at: Floats = window.steps.at[:, before]
    several = np.isfinite(at).sum(axis=0) > 1
    if not several.any():
        return False
    at = at[:, several]
    spread = medians.highest(at, axis=0) + medians.highest(-at, axis=0)
    return medians.middle(spread) <= max(_TOGETHER_SECONDS, usual)


def _inside(window: JobWindow, parted: PartedJob) -> bool:
    """Tell whether counters agree: who stands is inside a collective, or nobody's are reported.

    Of two halves counters must tell which of them the other waits for.
    """
    standing = parted.standing
    halves = 2 * int(standing.sum()) == parted.reporting
    counted = False
    for group in window.groups:
        waits, others = _members(group, standing, parted)
        counted |= bool(waits.any() or others.any())
        # What has not moved since the report before: an evaluation has collectives that complete.
        inside = waits & (group.enqueued > group.completed) & (group.at > group.changed_at)
        if not inside.any():
            continue
        if not halves:
            return True
        if (group.enqueued[others] < group.enqueued[inside].max()).any():
            return True
    return not counted and not halves


def _members(group: GroupProgress, standing: Flags, parted: PartedJob) -> tuple[Flags, Flags]:
    """Return [members], who stand and who step on, of those that reported since they parted."""
    fresh = (group.at > parted.last) & np.isfinite(group.enqueued) & np.isfinite(group.completed)
    return fresh & standing[group.rows], fresh & np.isin(group.rows, parted.alone)
