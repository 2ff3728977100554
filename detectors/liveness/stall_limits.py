"""How long a stall may last until it is reported, an incident, a warning, certain.

By who does what then: a stall accuses once its signs name whom the others wait for, or once it is
longer than what the job has survived and than what a pause may take.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ...vocabulary.findings import Finding
from .. import activity
from ..window import Flags, Ints, JobWindow
from . import collective_signs, pauses, stall_signs, stops
from .parted import STEPS_ALONE
from .stall_signs import StalledWindow

_ELSEWHERE = (collective_signs.OTHER_COLLECTIVE, STEPS_ALONE)
"""Kinds of ranks that will never come to the collective that their peers wait in."""

INCIDENT = 1.5
"""The score of a stall from which on it is worth an incident (`asks_from` of its kind)."""


@dataclass(frozen=True, slots=True)
class StallLimits:
    """Seconds without a step from which on it is seen, an incident, a warning, and certain."""

    first: float
    incident: float
    warning: float
    certain: float


class StallParameters(Protocol):
    """The parameters of the detector that decide; stalls.py says what each is."""

    least: float
    steps: float
    agreed: float
    surely: float
    beyond: float
    phases: float
    pause: float
    lone: float


@dataclass(frozen=True, slots=True)
class StallEvidence:
    """What is known of a stall beside its signs.

    suspects: rows that strong signs point at. saving: rows whose stack saves or evaluates. halted:
    rows whose process is stopped. least: seconds to the first word where nothing explains the
    stall. longest: seconds that the job has survived without a step. phase: the one that a rank
    announced last, "" for none.
    """

    suspects: Ints
    saving: Sequence[int]
    halted: Sequence[int]
    least: float
    longest: float
    phase: str


def limits(
    parameters: StallParameters,
    stall: StalledWindow,
    signs: Sequence[Finding],
    shown: StallEvidence,
) -> StallLimits:
    """Return from when on a stall counts."""
    if any(at > stall.last for at in stops.timed_out(stall.window)):
        return StallLimits(*[shown.least] * 4)  # no pause lasts so long
    survived = parameters.beyond * shown.longest
    circle = any(sign.kind == collective_signs.CIRCLE for sign in signs)
    unlike = any(sign.kind in _ELSEWHERE for sign in signs)
    if unlike or circle or _left_alone(stall, rows(stall, signs, "rank.left_loop")):
        # None of these ends by itself, whatever else the ranks do meanwhile.
        soon = max(15.0, 3 * stall.usual) if unlike else parameters.agreed
        certain = max(parameters.surely, survived)
        return StallLimits(shown.least, shown.least, max(soon, survived), certain)
    found = _by_activity(parameters, stall, signs, shown)
    if shown.phase in ("eval", "checkpoint", "init"):
        # By how long steps take: that hosts report rarely makes no pause longer.
        prompt = max(parameters.least, parameters.steps * stall.usual)
        first = max(shown.least, prompt * parameters.phases, survived)
        return replace(found, first=max(found.first, first), incident=max(found.incident, first))
    return found


def score(limits: StallLimits, waited: float) -> float:
    """Return the score of a stall of so many seconds, which is seen."""
    if waited >= limits.certain:
        return 3.0
    if waited >= limits.warning:
        return 2.0
    return INCIDENT if waited >= limits.incident else 1.0


def rows(stall: StalledWindow, signs: Sequence[Finding], *kinds: str) -> Ints:
    """Return the rows of the ranks that signs of these kinds are about, in order."""
    window = stall.window
    found = {window.row_of(int(sign.entity.id)) for sign in signs if sign.kind in kinds}
    return np.array(sorted(row for row in found if row is not None), np.int64)


def _by_activity(
    parameters: StallParameters,
    stall: StalledWindow,
    signs: Sequence[Finding],
    shown: StallEvidence,
) -> StallLimits:
    window, usual, suspects = stall.window, stall.usual, shown.suspects
    least, survived = shown.least, parameters.beyond * shown.longest
    timeout = max(window.collective_timeout_seconds, survived)
    # What may be a pause of normal life, and is not yet beyond all reason.
    long = max(parameters.pause, 10 * usual, survived)
    # What one rank's pause alone may be, or that of ranks of which nothing is known.
    alone = min(max(parameters.lone, 10 * usual, survived), long)
    if len(suspects) and np.isin(suspects, shown.halted).all():
        # The kernel says that they are stopped: whatever they did before, they do nothing now.
        certain = max(parameters.agreed, 4 * usual)
        return StallLimits(least, least, max(15.0, 3 * usual), certain)
    if pauses.just_announced(window, stall.last, usual):
        # One rank may go on writing what all of them said they had written: no counter tells
        # that from being stuck, only time does.
        certain = max(parameters.surely, survived)
        first = max(least, min(survived, parameters.surely))
        return StallLimits(first, certain, certain, certain)
    done = activity.since(window, stall.last)
    if len(suspects):
        # A device that hangs leaves its process spinning; a process that hangs does neither.
        on_device = rows(stall, signs, "rank.behind_completed")
        silent = rows(stall, signs, "rank.probe_silent")
        busy = done.busy | (np.nan_to_num(done.cpu) > activity.BUSY[1])
        at_work = done.works | (busy & ~np.isin(np.arange(len(busy)), on_device))
        storing, unseen = np.zeros(len(busy), bool), np.zeros(len(busy), bool)
        if not _nobodys_work(window, suspects):
            # Who writes for all burns no CPU that is known, and its host waits for the storage.
            storing, unseen = activity.storing(window, stall.last)
            storing |= np.isnan(done.cpu) & activity.storing(window, stall.last, all_may=True)[0]
            on_host = ~(done.cpu < activity.IDLE) & ~np.isin(np.arange(len(busy)), on_device)
            at_work |= storing & on_host
            unseen &= np.isnan(done.cpu) & on_host
        at_work[shown.saving] = True
        at_work[silent] = False
        if at_work[suspects].any():
            if _nobodys_work(window, suspects) and not shown.saving:
                long = alone
            return StallLimits(long, long, long, timeout)
        if (done.pending | unseen | _unseen_work(stall, signs, done))[suspects].all():
            first = max(least, survived)
            named = _nobodys_work(window, suspects) or np.isin(suspects, silent).all()
            return StallLimits(first, first if named else alone, long, timeout)
        idle = (np.nan_to_num(done.cpu, nan=1.0) < activity.BUSY[0])[suspects].all()
        if np.isin(suspects, silent).all():
            survived = 0.0
        warning = max(15.0, 3 * usual, 0.0 if idle else survived)
        certain = max(parameters.agreed, 4 * usual, survived)
        return StallLimits(least, least, warning, certain)
    if shown.saving or done.works.any():
        return StallLimits(timeout, timeout, 2 * timeout, 3 * timeout)
    if not done.busy.any() and _transport_hangs(stall, done):
        certain = max(parameters.surely, 10 * usual, survived)
        return StallLimits(least, max(least, survived), max(30.0, survived), certain)
    if done.busy.any():
        return StallLimits(long, long, timeout, 2 * timeout)
    return StallLimits(max(least, survived), alone, long, timeout)


def _transport_hangs(stall: StalledWindow, done: activity.RankActivity) -> bool:
    """Tell whether a group waits in a collective.

    Where nothing else is known of ranks all of them must wait in some: one of which nothing is
    known may evaluate for the others.
    """
    waiting = collective_signs.waiting_groups(stall)
    if np.isfinite(done.device).any() or np.isfinite(done.cpu).any():
        return next(waiting, None) is not None
    rows = {row for group in waiting for row in group.rows.tolist()}
    return len(rows) == len(stall.window.ranks)


def _unseen_work(
    stall: StalledWindow, signs: Sequence[Finding], done: activity.RankActivity
) -> Flags:
    """Return [ranks], that may evaluate for the others without anything that would show it.

    The first of a host of which neither CPU nor device is reported, whose stack nobody took, and
    which neither stopped on its device nor fell silent. Only time tells its work from being stuck.
    """
    window = stall.window
    unseen: Flags = np.isnan(done.cpu) & np.isnan(done.device)
    shown = rows(stall, signs, "rank.behind_completed", "rank.outside_collective",
                 "rank.probe_silent")  # fmt: skip
    unseen[shown] = False
    return unseen & stall_signs.firsts(window)


def _left_alone(stall: StalledWindow, gone: Ints) -> bool:
    """Tell whether ranks left the loop, do nothing now, and nobody else works either."""
    if not len(gone):
        return False
    done = activity.since(stall.window, stall.last)
    rest = np.ones(len(stall.window.ranks), bool)
    rest[gone] = False
    asleep = ~(np.nan_to_num(done.cpu) > activity.BUSY[0])[gone]
    return bool(asleep.all()) and not bool(((done.works | done.busy) & rest).any())


def _nobodys_work(window: JobWindow, suspects: Ints) -> bool:
    """Tell whether one rank alone is at work, and it is not the first of its host.

    What one rank does for all (a checkpoint, an evaluation, a download) is the first one's, of the
    job or of a host.
    """
    return len(suspects) == 1 and not stall_signs.firsts(window)[suspects[0]]
