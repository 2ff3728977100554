"""Jobs that stopped stepping, and the ranks that the others wait for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow
from . import (
    collective_signs,
    logged_collectives,
    parted,
    pauses,
    progress,
    stall_limits,
    stall_signs,
    stops,
)
from .stall_limits import StallEvidence
from .stall_signs import AGE, StalledWindow

_STRONG = (
    "rank.behind_enqueued",
    "rank.behind_completed",
    "rank.behind_step",
    "rank.outside_collective",
    "rank.probe_silent",
    collective_signs.OTHER_COLLECTIVE,
    parted.STEPS_ALONE,
)


RARE_SECONDS = 7.5
"""Hosts that report less often than this may hold back steps that have ended."""


@dataclass(frozen=True, slots=True)
class _StandingJob:
    """A job whose steps no longer end, as its newest report shows.

    ends, gaps: [steps], when each ended and the times between them. usual: the median of these.
    newest: when the newest report was made. interval: how often the slowest host reports. least:
    how long no step ends before it is looked at. All in seconds. sparse: steps are reported one in
    several, and collectives are counted between. steps: there are steps at all; else it is the
    collectives that move, or no longer do. apart: some ranks step on while most stand still. held:
    seconds for which steps that have ended are held back, by a log that is written in blocks.
    """

    ends: Floats
    gaps: Floats
    usual: float
    newest: float
    interval: float
    least: float
    sparse: bool
    steps: bool
    apart: parted.PartedJob | None
    held: float


class StallsDetector(Detector):
    """Report a job none of whose ranks has finished a step for far longer than steps take.

    The stall is measured in event time, up to the newest report of the job's own sources: a job
    whose sources are all silent is over, not stalled. A collective that completes is progress; one
    in the middle of a long step puts the first word off by no more than a step.
    Then, per communication group (pipeline groups left out): ranks behind in completed stopped on
    the device; else ranks behind in enqueued stopped in the process; stacks outside any
    collective, last steps, silent probes and idle processes are further signs.

    What it is called depends on who works. A rank that the others wait for and that does nothing
    is stuck: worth an incident (score 1.5) after `least` seconds or `steps` median steps, a warning
    (2) after 15 s, certain (3) after `agreed`. Everybody waiting inside a collective that does not
    complete is a hang of the transport: worth an incident beyond `beyond` times the longest gap, a
    warning after 30 s, certain after `surely`. A rank that the others wait for
    and that computes, saves or evaluates, and devices that calculate, explain the pause: nothing
    is said until it exceeds what a pause may take, or a collective timed out. Where nothing can
    tell, there is a first word (score 1, an observation) once the wait is beyond `beyond` times the
    longest the job has survived; it is worth an incident after `lone`, a warning after `pause`, and
    not certain before the collective time-out. Where only each tenth step
    or so is reported, counters of collectives tell the pace between. Where no source reports steps
    at all, it is the counters that stand still, and nothing is said before `pause` or a time-out.
    Hosts that report rarely are given two of their reports, unless every rank's own report says
    that its last step is as old as the newest one that arrived. Where steps arrive many at once (a
    log that is written in blocks, TensorBoard's files) and nothing else shows progress, the usual
    wait for a block comes on top of every limit, and nothing is said before `pause`.

    Parameters
    ----------
    least, steps : the first word.
    agreed : seconds after which a named rank that does nothing makes it certain.
    surely : seconds after which a wait of everybody in one collective is certain.
    beyond : factor over the longest gap between steps that the job has shown.
    phases : factor on every limit while a rank says it evaluates or writes a checkpoint.
    pause : seconds that a first pause may take where it may be an evaluation or a checkpoint.
    lone : the same, where one rank alone works that is not the first of its host, and for the
        incident where nothing can tell who works.

    Examples
    --------
    The last step ends 60 s after the start, the probes report on, and rank 3 has not launched the
    collective that its peers wait in.

    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> from rankscope.detectors.window import GroupProgress
    >>> at = START + np.arange(0, 91, 5)
    >>> group = GroupProgress("dp:1", "dp", np.arange(4), enqueued=np.array([61.0, 61, 61, 60]),
    ...               completed=np.full(4, 60.0), at=np.full(4, START + 90),
    ...               changed_at=np.full(4, START + 60))
    >>> window = sketch(np.full((4, 60), 0.8), now=START + 90, groups=(group,),
    ...                 rank_readings={AGE: readings(at, np.zeros((4, 1)))})
    >>> for finding in StallsDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.onset[0] - START, finding.score)
    job.stalled job example 60.0 3.0
    rank.behind_enqueued rank 3 on host-1 60.0 3.0

    Fails to name a rank where no counters, stacks or activity are reported. Cannot see that a rank
    which burns its CPU outside any collective is stuck and not at work, that a rank which writes to
    a hung file system is not, nor what a host's first rank does where counters are all there is:
    first words until the limits above. Start-up (before the second step) is another detector's.

    References: Aegis (NSDI'25), C4 (HPCA'25). The rule on Flight Recorder counters named 8 of 8
    culprits of real hangs.
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
        least: float = parted.LEAST,
        steps: float = parted.STEPS,
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
        still = self._still(window)
        if still is None:
            return []
        ends, gaps, newest, least = still.ends, still.gaps, still.newest, still.least
        usual, interval = still.usual, still.interval
        last = float(ends.max())
        if still.apart is None:
            # A phase that ended and a collective that completed are progress as well.
            last = max([last, *(e.at for e in window.named("training.phase"))])
            moved = progress.collectives_moved(window, last, interval, sparse=still.sparse)
            if moved > last and not still.sparse:
                # The next collective of a step, and its report, are due within the step.
                due = usual + progress.seen_late(interval)
                least = min(least, max(self.least, least - (moved - last), due))
            last = max(last, moved)
        stalled = newest - last
        phase = pauses.phase(window)
        if stalled < least or phase == "shutdown" or _over(window, last):
            return []
        # An announced pause that is over says how long one is before the job has shown another.
        longest = max(pauses.longest(window), float(gaps[2:].max()) if len(gaps) > 2 else usual,
                      last - float(ends.max()), still.held)  # fmt: skip
        stall = StalledWindow(window, last, usual)
        tops = stall_signs.stacks(stall)
        circle = collective_signs.circle(stall)
        signs = [
            *parted.signs(stall, still.apart),
            *collective_signs.behind(stall),
            *(collective_signs.unlike(stall) or logged_collectives.unlike(stall)),
            *([] if still.held else stall_signs.behind_in_steps(stall)),
            *stall_signs.outside(stall, tops),
            *stall_signs.silent(stall),
            *stall_signs.by_ras(stall),
            *stall_signs.idle(stall),
            *stall_signs.left(stall),
        ]
        signs = signs or logged_collectives.awaited(stall)
        signs = signs or collective_signs.absent(stall) or logged_collectives.unlogged(stall)
        suspects = stall_limits.rows(stall, signs, *_STRONG)
        least = max(self.least, least - still.held)
        shown = StallEvidence(
            suspects, stall_signs.pausing(tops), stall_signs.halted(tops), least, longest, phase
        )
        limits = stall_limits.limits(self, stall, [*signs, *circle], shown)
        # Where no step is reported nobody says either that one saves, compiles or evaluates.
        silent = not still.steps or (still.held > 0 and not len(suspects))
        silent = silent and not any(at > last for at in stops.timed_out(window))
        waited = stalled - still.held  # steps that ended since may not have been written yet
        if waited < (max(limits.first, self.pause) if silent else limits.first):
            return []
        score = stall_limits.score(limits, waited)
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
            text=_text(still, stalled),
            ranks=window.ranks[suspects].tolist(),
        )
        # A circle accuses nobody in it: each is behind for the others.
        return [symptom, *signs, *circle, *collective_signs.inside(stall)]

    def next_due(self, window: JobWindow) -> float:
        """Return when the next probe or host would count as silent.

        While steps go on that means nothing: only reports can show that they no longer do.
        """
        if self._still(window) is None or _all_ended(window):
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

    def _still(self, window: JobWindow) -> _StandingJob | None:
        """Return how long no step has ended, None while that is not long enough to look at."""
        key = (StallsDetector, self.least, self.steps)
        return window.features.once(key, lambda: self._measured(window))

    def _measured(self, window: JobWindow) -> _StandingJob | None:
        ends = compute_time.step_ends(window.steps)
        newest = progress.newest_report(window)
        apart = parted.find(window, least=self.least, steps=self.steps)
        ended = np.isfinite(ends) & (apart is None or ends <= apart.last)
        ends = ends[ended]
        steps = len(ends) >= 2
        if not steps:
            ends = progress.moved(window)
        if len(ends) < 2:
            return None
        rising = np.maximum.accumulate(ends)
        if newest - float(rising[-1]) < self.least:
            return None
        gaps = rising[1:] - rising[:-1]
        usual = medians.middle(gaps[-200:])
        strides = np.diff(window.steps.index[ended])[-200:] if steps else np.ones(0)
        counted = any(np.isfinite(group.completed).any() for group in window.groups)
        sparse = counted and medians.middle(strides.astype(np.float64)) > 1
        if window.steps_interval > RARE_SECONDS and len(gaps) > 1:
            sparse, usual = sparse or counted, float(gaps[-200:].mean())
        elif sparse:
            usual = medians.middle(gaps[-200:] / np.maximum(strides, 1))
        interval = float(np.max(stall_signs.host_interval(window), initial=0.0))
        least, held = max(self.least, self.steps * usual), 0.0
        rare = max(interval, window.steps_interval)
        if rare > RARE_SECONDS and not progress.all_stand(window, float(rising[-1]), usual):
            held = 0.0 if counted else window.steps_interval
            least = max(least, 2.2 * interval, self.steps * held)
        if any(at > rising[-1] for at in stops.timed_out(window)):
            least, held = self.least, 0.0  # nothing more is due, however rarely hosts report
        if newest - float(rising[-1]) < least:
            return None
        return _StandingJob(ends, gaps, usual, newest, interval, least, sparse, steps, apart, held)


def _text(still: _StandingJob, stalled: float) -> str:
    if not still.steps:
        return f"no collective has moved for {stalled:.0f} s"
    where = ""
    if still.apart is not None:
        where = f" on {int(still.apart.standing.sum())} of {still.apart.reporting} ranks"
    return f"no step has ended{where} for {stalled:.0f} s{durations.usual_step(still.usual)}"


def _over(window: JobWindow, last: float) -> bool:
    """Tell whether ranks ended since the last step, all or so that the others wait for them.

    Ranks that end because a collective timed out change nothing about why it did.
    """
    ended = _all_ended(window) or stops.being_ended(window, last)
    return ended and not stops.after_time_out(window, stops.exits_of(window))


def _all_ended(window: JobWindow) -> bool:
    """Tell whether every rank's process ended: nobody is left to be stuck."""
    ended = {event.attributes.get("rank") for event in window.named("process.exit")}
    return bool(ended) and bool(len(window.ranks)) and set(window.ranks.tolist()) <= ended
