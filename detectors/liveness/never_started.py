"""Jobs whose processes live, or lived, and never reached their first step."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import activity
from ..contract import Detector
from ..findings import report
from ..window import JobWindow
from . import stops
from .logged_crashes import LoggedCrashesDetector, steps_would_be_seen
from .stall_signs import AGE

_PROMPT_SECONDS = 60.0
"""A source that first reports so soon after the processes' start has seen all of it."""


class NeverStartedDetector(Detector):
    """Report an attempt that has lived for far longer than a start takes without one step.

    Only where a source says that steps would be seen: the probe's age of progress, or the phase
    `init`. Loading a model and compiling it take minutes and use CPUs or devices; a start that does
    neither waits for somebody. A job that ended before its first step is evidence, not a symptom:
    its crash is one already.

    Steps before the first data are not seen: after a restart of the collector, or where an agent
    came late, time counts from that data on, and a job that ended is not said to have had no step.

    Parameters
    ----------
    least : seconds without a step, since the processes started, while nothing works.
    asleep : the same, where every rank is there and is seen to sleep, its device too.
    working : the same, while a device or a process of the job does.
    beyond : factor on these from which on it is certain.
    announced : a start counts only where the phase `init` was reported. Off live; on for logs of
        a dead job, whose steps may stand in lines of a form that nobody knows.

    Examples
    --------
    Four processes report for twenty minutes, asleep, and no step ends.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, readings, sketch
    >>> at = START + np.arange(0.0, 1201, 30)
    >>> window = sketch(np.zeros((4, 0)), now=START + 1200, attempt_started_at=START,
    ...                 rank_readings={AGE: readings(at, np.zeros((4, 1)))})
    >>> for finding in NeverStartedDetector().evaluate(window):
    ...     print(finding.kind, finding.text)
    job.never_started no step in the 1200 s since the job started

    Cannot see the difference between a compilation of an hour and a start that spins: both burn
    CPUs. Cannot see a job of which no process was ever reported.

    Fails where a trainer is only watched from step to step and does not report that it started.

    Reference: NCCL gives up its own bootstrap after minutes, torch's store after 300 to 1,800 s.
    """

    name = "never_started"
    kinds = ("job.never_started", "job.no_step", "job.ranks_missing")

    def __init__(
        self,
        *,
        least: float = 900.0,
        asleep: float = 300.0,
        working: float = 3600.0,
        beyond: float = 2.0,
        announced: bool = False,
    ) -> None:
        self.least = least
        self.asleep = asleep
        self.working = working
        self.beyond = beyond
        self.announced = announced

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom, or that a job ended without a step."""
        start = -np.inf if self.announced else window.attempt_started_at
        if not np.isfinite(start):
            start = _init_since(window)
        if not np.isfinite(start) or stops.stepped(window):
            return []
        ended = [event.at for event in stops.exits_of(window) if stops.code_of(event) != 0]
        ended = ended or [crash.onset[0] for crash in LoggedCrashesDetector().evaluate(window)]
        watched = max(start, window.attempt_reported_at)
        if ended:
            return [self._ended(window, start, ended[0])] if watched - start < self.least else []
        if not steps_would_be_seen(window):
            return []
        waited = float(np.max(window.last_received, initial=-np.inf)) - watched
        done = activity.since(window, start)
        works = bool(done.works.any() or done.busy.any())
        limit = self.working if works else max(self.least, window.collective_timeout_seconds)
        if _asleep(window, window.now - self.asleep + 30.0):
            limit = self.asleep
        if waited < limit:
            return []
        symptom = report(
            window,
            self.name,
            "job.never_started",
            window.entity,
            onset=start,
            magnitude=waited,
            score=3.0 if waited >= self.beyond * limit else 2.0,
            signal=AGE,
            observed=waited,
            expected=limit,
            text=f"no step in the {waited:.0f} s since the job "
            + ("started" if watched - start < _PROMPT_SECONDS else "was first reported"),
        )
        return [symptom, *self._missing(window, start)]

    def _ended(self, window: JobWindow, start: float, at: float) -> Finding:
        return report(
            window,
            self.name,
            "job.no_step",
            window.entity,
            onset=at,
            seen=(start, at),
            signal="training.step",
            observed=0.0,
            text=f"the job ended {max(at - start, 0.0):.0f} s after its start without one step",
        )

    def _missing(self, window: JobWindow, start: float) -> list[Finding]:
        lacking = window.world_size - len(window.ranks)
        if lacking <= 0:
            return []
        return [
            report(
                window,
                self.name,
                "job.ranks_missing",
                window.entity,
                onset=start,
                magnitude=float(lacking),
                signal="training.rank.info",
                observed=float(len(window.ranks)),
                expected=float(window.world_size),
                text=f"{lacking} of {window.world_size} ranks never reported",
            )
        ]


def _init_since(window: JobWindow) -> float:
    """Return when the first rank began its start, inf where it is unknown or one went beyond it.

    A start that fails within seconds ends before anything but its events is reported.
    """
    phases = [(event.at, event.attributes.get("phase")) for event in window.named("training.phase")]
    if any(phase != "init" for _, phase in phases):
        return np.inf
    return min((at for at, _ in phases), default=np.inf)


def _asleep(window: JobWindow, since: float) -> bool:
    """Tell whether all ranks of the job are there, and neither processes nor devices do anything.

    Nobody who is still to come is waited for, and nothing is read, compiled or moved.
    """
    if len(window.ranks) < window.world_size:
        return False
    cpu = window.of_ranks(activity.CPU).mean(since, np.inf)
    device = np.nan_to_num(window.of_ranks("hw.gpu.utilization").mean(since, np.inf))
    return bool((cpu < activity.IDLE).all() and (device < activity.IDLE).all())
