"""Crashes of which only the logs tell: nobody saw how the processes ended."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import report
from ..tenants import own_logs, signature_of
from ..window import JobWindow
from . import stops
from .exits import crashed
from .stall_signs import AGE
from .stops import is_root, rank_of

TOGETHER_SECONDS = 60.0
"""Ranks that wait for one rendezvous give it up within so long."""

_STOOD = frozenset({"nccl.watchdog_stuck", "nccl.heartbeat_timeout"})
"""Signatures of processes that had stood for minutes: the stall before them is the trouble."""

SILENT_SECONDS = 10.0
"""Ranks that sent nothing for so long, and three intervals of their hosts, are gone."""


class LoggedCrashesDetector(Detector):
    """Tell a crash from an error that one rank logs, and its peers' lines that it was gone.

    Where agents may not watch processes, or nothing is their parent, no exit is reported. A rank
    that dies of an error logs that; its peers, cut off in a collective, log that a connection was
    closed. Both together, and no step that began after the error, are a crash: at once where most
    of the peers say so, else when all ranks have been silent while hosts still report. The rank
    whose error came first ended first. Errors that steps follow were survived. Before the first
    step nobody is cut off: there it is a crash where most ranks log an error of their own (a
    rendezvous that not all have reached) and all are silent from then on.

    Where exits are reported they say more, and this says nothing. Neither does it where ranks said
    that they leave, a scheduler said that it stops the job, a collective had timed out before the
    error, or the process says that it had not got on for minutes: what follows is the end of those,
    or the stall is the trouble.

    Parameters
    ----------
    most : share of the other ranks whose logs must say that a peer is gone, to believe it at once.
    together : seconds within which errors of two ranks have no order, by the clocks of hosts.
    over : when the job was over, in seconds since the epoch, where it is known to be dead, as none
        is live: from then on an error that no step followed is a crash, whatever its peers logged.

    Examples
    --------
    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> def line(rank, at, role):
    ...     return Event("log.fault", START + at, {"rank": rank, "role": role, "signature": "x"})
    >>> cut = [line(rank, 60.5, "cascade") for rank in (0, 1, 3)]
    >>> window = sketch(np.full((4, 60), 0.8), events=[line(2, 60.1, "root"), *cut],
    ...                 now=START + 65.0)
    >>> for finding in LoggedCrashesDetector().evaluate(window):
    ...     print(finding.text, round(finding.onset[0] - START, 1))
    4 of 4 ranks logged an error and no step followed 60.1
    rank 2 logged an error first, its peers then that it was gone 60.1

    Fails where no rank logs an error of its own (killed by a signal), or its peers log
    nothing, as in a job of one rank: such errors also come at the end of jobs that are done.

    Reference: roles of log lines, facts 2.5.
    """

    name = "logged_crashes"
    kinds = ("job.crashed", "rank.first_exit")

    def __init__(
        self, *, most: float = 0.5, together: float = 1.5, over: float = float("inf")
    ) -> None:
        self.most = most
        self.together = together
        self.over = over

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom and the rank that ended first, or nothing."""
        roots, cut = _lines(window)
        if not roots or window.now < self._due(window, roots, cut):
            return []
        first = roots[0]
        rank = rank_of(first)
        row = None if rank is None else window.row_of(rank)
        if row is None:
            return []
        ranks = sorted({one for event in (*roots, *cut) if (one := rank_of(event)) is not None})
        seen = (first.at, max(event.at for event in (*roots, *cut)))
        others = {rank_of(e) for e in roots if e.at <= first.at + self.together} - {rank}
        return [
            crashed(
                window,
                self.name,
                ranks,
                "logged an error and no step followed",
                onset=first.at,
                seen=seen,
                score=3.0,
                signal="log.fault",
            ),
            report(
                window,
                self.name,
                "rank.first_exit",
                window.rank_entity(row),
                onset=first.at,
                seen=seen,
                score=1.5 if others else 3.0,
                signal="log.fault",
                observed=signature_of(first),
                text=f"rank {rank} logged an error first"
                + (", its peers then that it was gone" if cut else ""),
            ),
        ]

    def next_due(self, window: JobWindow) -> float:
        """Return when lines that are there now have been followed by nothing for long enough."""
        roots, cut = _lines(window)
        due = self._due(window, roots, cut) if roots else np.inf
        return due if due > window.now else np.inf

    def _gave_up(self, window: JobWindow, roots: Sequence[Event]) -> bool:
        """Tell whether most ranks ended a start of which steps would have been seen, together."""
        if stops.stepped(window) or not steps_would_be_seen(window):
            return False
        together = {rank_of(e) for e in roots if e.at >= roots[-1].at - TOGETHER_SECONDS}
        most = len(together) > max(self.most * window.world_size, 1)
        return most and bool(np.isfinite(window.last_received).any())

    def _due(self, window: JobWindow, roots: Sequence[Event], cut: Sequence[Event]) -> float:
        """Return when these lines are a crash, should nothing else come in."""
        said = roots[0].at + stops.HOLD_SECONDS
        gone = {rank_of(event) for event in (*roots, *cut)} - {rank_of(roots[0])}
        most = bool(gone) and len(gone) >= self.most * (window.world_size - 1)
        if np.isfinite(self.over):
            return max(said, self.over)
        if cut and most:
            return said
        if not cut and not self._gave_up(window, roots):
            return np.inf
        if not len(window.hosts):
            return np.inf  # nobody reports that ranks are silent, and not all of it
        known = window.host_interval[np.isfinite(window.host_interval)]
        silence = max(SILENT_SECONDS, 3 * float(np.max(known, initial=0.0)))
        # Ranks are silent for as long as hosts are received meanwhile: else it is the data's end.
        heard = np.max(window.host_last_received) - np.max(window.last_received)
        return max(said, window.now + float(silence - heard))


def steps_would_be_seen(window: JobWindow) -> bool:
    """Return whether a source reports that would show steps: none so far means that none ended."""
    if AGE in window.rank_readings:
        return True
    return any(
        event.name == "training.phase" and event.attributes.get("phase") == "init"
        for event in window.events
    )


def _lines(window: JobWindow) -> tuple[list[Event], list[Event]]:
    """Return errors that no step followed, and what others logged of it since, oldest first."""
    return window.features.once(_lines, lambda: _found(window)) if window.events else ([], [])


def _found(window: JobWindow) -> tuple[list[Event], list[Event]]:
    last, usual = window.features.pace
    since = last - usual if np.isfinite(last) else -np.inf
    roots = [e for e in stops.roots(window) if is_root(e) and rank_of(e) is not None]
    roots = sorted((e for e in roots if e.at > since), key=lambda event: event.at)
    if not roots or stops.exits_of(window) or signature_of(roots[0]) in _STOOD:
        return [], []
    before = min((*stops.wishes(window), *stops.timed_out(window)), default=np.inf)
    if before <= roots[0].at + stops.POLLED_SECONDS:
        return [], []
    cut = [
        event
        for event in own_logs(window)
        if event.attributes.get("role") == "cascade"
        and rank_of(event) not in (None, rank_of(roots[0]))
        and event.at > roots[0].at - stops.POLLED_SECONDS
        and not stops.is_time_out(window, event)
    ]
    return roots, cut
