"""Jobs that stopped stepping, and the ranks that the others wait for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import activity, own_time
from ..contract import Detector
from ..findings import report
from ..window import Ints, JobWindow
from . import collective_signs, pauses, stall_signs, stops
from .stall_signs import AGE, Stall

_STRONG = (
    "rank.behind_enqueued",
    "rank.behind_completed",
    "rank.behind_step",
    "rank.outside_collective",
    "rank.probe_silent",
    collective_signs.OTHER_COLLECTIVE,
)


@dataclass(frozen=True, slots=True)
class _Limits:
    """Seconds without a step from which on there is a first word, a warning, and certainty."""

    first: float
    warning: float
    certain: float


class Stalls(Detector):
    """Report a job none of whose ranks has finished a step for far longer than steps take.

    The stall is measured in event time, up to the newest report of the job's own sources: a job
    whose sources are all silent is over, not stalled. A collective that completes is progress.
    Then, per communication group (pipeline groups left out): ranks behind in completed stopped on
    the device; else ranks behind in enqueued stopped in the process; stacks outside any
    collective, last steps, silent probes and idle processes are further signs.

    What it is called depends on who works. A rank that the others wait for and that does nothing
    is stuck: a first word after `least` seconds or `steps` median steps, a warning after 15 s,
    certain after `agreed`. Everybody waiting inside a collective that does not complete is a hang
    of the transport: a warning after 30 s, certain after `surely`. A rank that the others wait for
    and that computes, saves or evaluates, and devices that calculate, explain the pause: nothing
    is said until it exceeds what a pause may take. Where nothing can tell, it stays a first word
    (score 1) until the wait is beyond `beyond` times the longest the job has survived, and is not
    certain before the collective time-out.

    Parameters
    ----------
    least, steps : the first word.
    agreed : seconds after which a named rank that does nothing makes it certain.
    surely : seconds after which a wait of everybody in one collective is certain.
    beyond : factor over the longest gap between steps that the job has shown.
    phases : factor on every limit while a rank says it evaluates or writes a checkpoint.
    pause : seconds that a first pause may take where it may be an evaluation or a checkpoint.
    lone : the same, where one rank alone works that is not the first of its host.

    Examples
    --------
    The last step ends 60 s after the start, the probes report on, and rank 2 has not launched the
    collective that its peers wait in.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import Group
    >>> at = START + np.arange(0, 91, 5)
    >>> group = Group("dp:1", "dp", np.arange(4), enqueued=np.array([61.0, 61, 60, 61]),
    ...               completed=np.full(4, 60.0), at=np.full(4, START + 90),
    ...               changed_at=np.full(4, START + 60))
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 90, groups=(group,),
    ...                 rank_readings={AGE: readings(at, np.zeros((4, 1)))})
    >>> for finding in Stalls().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.onset[0] - START, finding.score)
    job.stalled job example 60.0 3.0
    rank.behind_enqueued rank 2 on host-1 60.0 3.0

    Fails to name a rank where no counters, stacks or activity are reported. Cannot see that a rank
    which burns its CPU outside any collective is stuck and not at work, nor that a rank which
    writes to a hung file system is not: both are first words until the limits above. Start-up
    (before the second step) is another detector's.

    References: facts on training signals 0.1 and 3.3 (the rule on Flight Recorder counters named
    8 of 8 culprits); Aegis (NSDI'25), C4 (HPCA'25).
    """

    name = stall_signs.DETECTOR
    kinds = (
        "job.stalled",
        *_STRONG,
        "rank.idle_process",
        "rank.left_loop",
        collective_signs.CIRCLE,
        collective_signs.INSIDE,
    )

    def __init__(
        self,
        *,
        least: float = 9.5,
        steps: float = 2.5,
        agreed: float = 30.0,
        surely: float = 60.0,
        beyond: float = 1.5,
        phases: float = 20.0,
        pause: float = 180.0,
        lone: float = 90.0,
    ) -> None:
        self.least = least
        self.steps = steps
        self.agreed = agreed
        self.surely = surely
        self.beyond = beyond
        self.phases = phases
        self.pause = pause
        self.lone = lone

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom on the job and the signs on ranks; nothing while steps go on."""
        ends = own_time.step_ends(window.steps)
        ends = ends[np.isfinite(ends)]
        if len(ends) < 2:
            return []
        newest = _newest_report(window)
        interval = float(np.max(stall_signs.host_interval(window), initial=0.0))
        last = float(ends.max())
        gaps = np.diff(np.maximum.accumulate(ends))
        usual = float(np.median(gaps[-200:]))
        least = max(self.least, self.steps * usual, 2.2 * interval if interval > 7.5 else 0.0)
        if newest - last < least:
            return []
        # A phase that ended and a collective that completed are progress as well.
        last = max([last, *(e.at for e in window.events if e.name == "training.phase")])
        last = max(last, _collectives_moved(window, last, interval))
        stalled = newest - last
        phase = pauses.phase(window)
        if stalled < least or phase == "shutdown" or _all_ended(window):
            return []
        if stops.being_ended(window, last):
            return []
        # An announced pause that is over says how long one is before the job has shown another.
        longest = max(pauses.longest(window), float(gaps[2:].max()) if len(gaps) > 2 else usual,
                      last - float(ends.max()))  # fmt: skip
        stall = Stall(window, last, usual)
        tops = stall_signs.stacks(stall)
        circle = collective_signs.circle(stall)
        signs = [
            *collective_signs.behind(stall),
            *collective_signs.unlike(stall),
            *stall_signs.behind_in_steps(stall),
            *stall_signs.outside(stall, tops),
            *stall_signs.silent(stall),
            *stall_signs.idle(stall),
            *stall_signs.left(stall),
        ]
        suspects = np.array(
            sorted({row for s in signs if s.kind in _STRONG if (row := _row(window, s)) >= 0}), int
        )
        silent = {_row(window, s) for s in signs if s.kind == "rank.probe_silent"}
        on_device = {_row(window, s) for s in signs if s.kind == "rank.behind_completed"}
        limits = self._limits(stall, suspects, silent, on_device, tops, least, longest)
        gone = np.array([_row(window, s) for s in signs if s.kind == "rank.left_loop"], int)
        unlike = any(sign.kind == collective_signs.OTHER_COLLECTIVE for sign in signs)
        if unlike or circle or self._left_alone(stall, gone):
            # None of these ends by itself, whatever else the ranks do meanwhile.
            certain = max(self.surely, self.beyond * longest)
            soon = max(15.0, 3 * usual) if unlike else self.agreed
            limits = _Limits(least, max(soon, self.beyond * longest), certain)
        elif phase in ("eval", "checkpoint", "init"):
            first = max(least * self.phases, self.beyond * longest)
            limits = _Limits(max(limits.first, first), limits.warning, limits.certain)
        if stalled < limits.first:
            return []
        score = 3.0 if stalled >= limits.certain else 2.0 if stalled >= limits.warning else 1.0
        symptom = report(
            window,
            self.name,
            "job.stalled",
            window.entity,
            onset=(last, last + usual),
            seen=(last, last + stalled),
            magnitude=stalled,
            score=score,
            signal=AGE,
            observed=stalled,
            expected=usual,
            text=f"no step has ended for {stalled:.0f} s; a step usually takes {usual:.3g} s",
            ranks=window.ranks[suspects].tolist(),
        )
        # A circle accuses nobody in it: each is behind for the others.
        return [symptom, *signs, *circle, *collective_signs.inside(stall)]

    def next_due(self, window: JobWindow) -> float:
        """Return when the next probe or host would count as silent."""
        if _all_ended(window):
            return np.inf
        interval = stall_signs.host_interval(window)
        due = np.concatenate(
            [
                window.last_received + np.maximum(stall_signs.SILENT_SECONDS, 2.5 * interval),
                window.host_last_received + stall_signs.RECEIVED_SECONDS,
            ]
        )
        later = due[np.isfinite(due) & (due > window.now)]
        return float(later.min()) if len(later) else np.inf

    def _left_alone(self, stall: Stall, gone: Ints) -> bool:
        """Tell whether ranks left the loop, do nothing now, and nobody else works either."""
        if not len(gone):
            return False
        done = activity.since(stall.window, stall.last)
        rest = np.ones(len(stall.window.ranks), bool)
        rest[gone] = False
        asleep = ~(np.nan_to_num(done.cpu) > activity.BUSY[0])[gone]
        return bool(asleep.all()) and not bool(((done.works | done.busy) & rest).any())

    def _limits(
        self,
        stall: Stall,
        suspects: Ints,
        silent: set[int],
        on_device: set[int],
        tops: dict[int, str],
        least: float,
        longest: float,
    ) -> _Limits:
        """Return from when on this stall counts, by who does what."""
        window, usual = stall.window, stall.usual
        shown = self.beyond * longest
        timeout = max(window.collective_timeout_seconds, shown)
        # What may be a pause of normal life, and is not yet beyond all reason.
        pause = _Limits(max(least, shown), max(self.pause, 10 * usual, shown), timeout)
        if pauses.just_announced(window, stall.last, usual):
            # One rank may go on writing what all of them said they had written: no counter tells
            # that from being stuck, only time does.
            certain = max(self.surely, shown)
            return _Limits(max(least, min(shown, self.surely)), certain, certain)
        done = activity.since(window, stall.last)
        saving = stall_signs.pausing(tops)
        if len(suspects):
            # A device that hangs leaves its process spinning; a process that hangs does neither.
            busy = done.busy | (np.nan_to_num(done.cpu) > activity.BUSY[1])
            at_work = done.works | (busy & ~np.isin(np.arange(len(busy)), list(on_device)))
            at_work[saving] = True
            at_work[list(silent)] = False
            if at_work[suspects].any():
                if _nobodys_work(window, suspects) and not saving:
                    alone = max(self.lone, 10 * usual, shown)
                    return _Limits(min(alone, pause.warning), min(alone, pause.warning), timeout)
                return _Limits(pause.warning, pause.warning, timeout)
            if done.pending[suspects].all():
                return pause
            idle = (np.nan_to_num(done.cpu, nan=1.0) < activity.BUSY[0])[suspects].all()
            survived = 0.0 if set(suspects.tolist()) <= silent else shown
            warning = max(15.0, 3 * usual, 0.0 if idle else survived)
            return _Limits(least, warning, max(self.agreed, 4 * usual, survived))
        if saving or done.works.any():
            return _Limits(timeout, 2 * timeout, 3 * timeout)
        if collective_signs.waiting_group(stall) is not None and not done.busy.any():
            certain = max(self.surely, 10 * usual, shown)
            return _Limits(least, max(30.0, shown), certain)
        if done.busy.any():
            return _Limits(pause.warning, timeout, 2 * timeout)
        return pause


def _nobodys_work(window: JobWindow, rows: Ints) -> bool:
    """Tell whether one rank alone is at work, and it is not the first of its host.

    What one rank does for all (a checkpoint, an evaluation, a download) is the first one's, of the
    job or of a host.
    """
    if len(rows) != 1:
        return False
    peers = window.ranks[window.host_of == window.host_of[rows[0]]]
    return int(window.ranks[rows[0]]) > int(peers.min())


def _row(window: JobWindow, sign: Finding) -> int:
    row = window.row_of(int(sign.entity.id))
    return -1 if row is None else row


def _newest_report(window: JobWindow) -> float:
    """Return the newest event time of the job's own sources that live beside its steps."""
    newest = -np.inf
    for metric in (AGE, "training.rank.info", activity.CPU, "process.cpu.wait",
                   "process.memory.usage"):  # fmt: skip
        found = window.rank_readings.get(metric)
        if found is not None:
            newest = max(newest, found.newest_at())
    for group in window.groups:
        newest = max(newest, float(np.max(group.at, initial=-np.inf)))
    if newest == -np.inf:
        for metric in ("system.cpu.utilization", "system.memory.usage"):
            found = window.host_readings.get(metric)
            if found is not None:
                newest = max(newest, found.newest_at())
    return newest


def _collectives_moved(window: JobWindow, last: float, interval: float) -> float:
    """Return when collectives were last seen to complete after the last step; -inf if never.

    The step's own collectives are seen up to two reporting periods late.
    """
    moved = max((float(np.max(g.changed_at, initial=-np.inf)) for g in window.groups),
                default=-np.inf)  # fmt: skip
    return moved if moved > last + max(12.0, 2.2 * interval) else -np.inf


def _all_ended(window: JobWindow) -> bool:
    """Tell whether every rank's process ended: nobody is left to be stuck."""
    ended = {
        event.attributes.get("rank") for event in window.events if event.name == "process.exit"
    }
    return bool(len(window.ranks)) and set(window.ranks.tolist()) <= ended
