"""Processes that ended abnormally, and which of them ended first."""

import re
from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from ...vocabulary.log_lines import ENDS
from ...vocabulary.samples import Event
from ..contract import Detector
from ..findings import first_line, report, report_event
from ..tenants import own_events, says, signature_of, text_of
from ..window import JobWindow
from . import exit_order, stops, telling
from .stops import code_of, is_root, is_stop, rank_of

_WORKER = re.compile(r"DataLoader worker .{0,4000}killed by signal: Killed")
"""SIGKILL of a worker alone: people and schedulers send it to the trainer."""
_REFUSED = "native.memory_refused"
"""Signature by which a process says that it got no more memory of its host."""


class ExitsDetector(Detector):
    """Order the abnormal exits of a job's ranks: the first one is the suspect, the rest cascade.

    An exit is abnormal with a signal or a code other than 0. SIGTERM and SIGINT are somebody's
    wish: they count only while another rank of the job ended otherwise. A job is stopped, not
    crashed, when most of its ranks end by SIGTERM, SIGINT or in order, or a scheduler or the ranks
    themselves announced it, and what follows within the grace period are SIGKILLs and the errors
    of those whose peers were gone. All ranks killed by SIGKILL together, without a kernel that
    says it lacked memory, are stopped as well, also where SIGTERM reached some of them in time:
    over several hosts that is certain, on one host, or of a job of one rank, it is a first word
    only, and names nobody. So is the end of the only rank that is reported where nobody saw its
    code: who is not the parent of a process never sees one, and jobs end in order every day.
    A rank whose log says that a peer closed the connection ended because of that peer, however
    early its exit was seen, unless all others say so too or were asked to end after it. So did one
    that ended by an exit code without any word in its log yet, where another that ended within the
    time of polling logged an error of its own: the lines of the first are still to come, or say
    nothing, and clocks order no two hosts better than that. Signals but SIGTERM need no line. Where
    no log tells, exits are ordered by one clock: freed of the offsets that hosts report of their
    own. An exit that steps of the same rank follow is over: the job was restarted.
    Where a scheduler says that it takes one host, and the ranks of no other host end with those of
    that one, the job was not stopped: the others end later, since they miss their peers.
    Where a collective timed out before the first exit, the stall before it is the trouble: those
    that waited end themselves, and nobody is named. Neither is who gave a transfer of InfiniBand
    up, and says no more than that: its peer or the network ended it.

    Parameters
    ----------
    together : seconds within which exits count as simultaneous (polling and clocks); among those,
        a rank with a root error in its log goes before one without.

    Examples
    --------
    Rank 0 is seen to end first, but its log says that a peer closed the connection.

    >>> import numpy as np
    >>> from rankscope.detectors.sketch import START, sketch
    >>> events = [
    ...     Event("log.fault", START + 59.9, {"rank": 0, "role": "cascade"}),
    ...     Event("process.exit", START + 60.0, {"rank": 0, "exit_code": 1}),
    ...     Event("process.exit", START + 60.3, {"rank": 2, "signal": 11}),
    ... ]
    >>> window = sketch(np.full((4, 60), 0.8), events=events)
    >>> for finding in ExitsDetector().evaluate(window):
    ...     print(finding.text, round(finding.onset[1] - START, 1))
    2 of 4 ranks ended abnormally 60.3
    rank 2 ended first: signal 11 60.3

    Cannot see who sent a signal: a person's `kill -9` of every rank at once looks like a
    scheduler's, a `kill` of one rank alone like a crash.

    Fails where the first process vanished without its exit being seen, and only its peers' exits
    were (the missing rank is then found by its silence).

    Reference: torchrun names the first observed failure by time only; facts 2.5 for roles.
    """

    name = "exits"
    kinds = (
        "job.crashed",
        "rank.first_exit",
        "rank.root_log",
        "host.oom_killed",
        "host.worker_killed",
        "host.memory_refused",
    )

    def __init__(self, *, together: float = 0.05) -> None:
        self.together = together

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom, the first exit, root log lines, and OOM kills of the job's hosts."""
        findings = [*self._logs(window), *self._kills(window), *self._memory(window)]
        exits, outcome = self._abnormal(window)
        if outcome in ("stopped", "waiting"):
            return findings
        cascade = {
            rank
            for event in window.named("log.fault")
            if event.attributes.get("role") == "cascade" and (rank := rank_of(event)) is not None
        }
        root = {rank_of(event) for event in window.named("log.fault") if is_root(event)}
        suspects = _suspects(exits, cascade - root)
        first, together = exit_order.first(window, suspects, root, self.together)
        alone = len(together) == 1 or (
            rank_of(first) in root and sum(rank_of(event) in root for event in together) == 1
        )
        ended = sorted({rank for event in exits if (rank := rank_of(event)) is not None})
        onset = (min(event.at for event in exits), first.at)
        together_all = outcome == "together"
        findings.append(
            crashed(
                window,
                self.name,
                ended,
                "ended together, as stopped" if together_all else "ended abnormally",
                onset=(min(onset), max(onset)),
                seen=(exits[0].at, exits[-1].at),
                score=1.0 if together_all else 3.0,
                signal="process.exit",
            )
        )
        row = window.row_of(rank_of(first) or 0)
        waited = rank_of(first) not in root and stops.after_time_out(window, suspects)
        waited = waited or stops.after_transfer(window, first)
        unsaid = len(together) > 1 and {rank_of(event) for event in together} <= _unsaid(window)
        if row is not None and not together_all and not waited and not unsaid:
            how = _how(first)
            findings.append(
                report(
                    window,
                    self.name,
                    "rank.first_exit",
                    window.rank_entity(row),
                    onset=first.at,
                    seen=(exits[0].at, exits[-1].at),
                    score=3.0 if alone else 1.5,
                    signal="process.exit",
                    observed=how,
                    expected="exit code 0",
                    text=f"rank {rank_of(first)} ended first: {how}",
                )
            )
        return findings

    def next_due(self, window: JobWindow) -> float:
        """Return when exits that may be the first of a stop have waited long enough."""
        exits = stops.exits_of(window)
        held = (-stops.SIGKILL, -stops.SIGTERM, None)
        if not any(code_of(event) in held for event in exits):
            return np.inf
        due = (stops.held_until(window, event.at) for event in exits)
        return min((at for at in due if at > window.now), default=np.inf)

    def _abnormal(self, window: JobWindow) -> tuple[list[Event], stops.Outcome]:
        """Return abnormal exits of ranks, oldest first, and how the job ended by them."""
        shutdown = {
            rank_of(event)
            for event in window.named("training.phase")
            if event.attributes.get("phase") == "shutdown"
        }
        exits = stops.exits_of(window)
        # A vanished process whose code nobody saw ended in order only if it said so before.
        abnormal = [
            event
            for event in exits
            if (code := code_of(event)) != 0
            and (code is not None or rank_of(event) not in shutdown)
        ]
        return abnormal, stops.outcome(window, exits, abnormal) if abnormal else "stopped"

    def _logs(self, window: JobWindow) -> list[Finding]:
        lines: dict[int, list[Event]] = {}
        for event in own_events(window):
            rank = rank_of(event) if is_root(event) else None
            if rank is not None and window.row_of(rank) is not None:
                lines.setdefault(rank, []).append(event)
        findings: list[Finding] = []
        for rank, own in lines.items():
            row, first = window.row_of(rank), telling.first(own)
            if row is None or first is None:
                continue
            signature = signature_of(first)
            line = first_line(first.attributes.get("text"))
            findings.append(
                report_event(
                    window,
                    self.name,
                    "rank.root_log",
                    window.rank_entity(row),
                    first,
                    score=2.0,
                    observed=signature,
                    text=f"rank {rank} logged {signature}: {line}".rstrip(": "),
                )
            )
        return findings

    def _kills(self, window: JobWindow) -> list[Finding]:
        findings = []
        for event in own_events(window):
            if event.name != "host.oom_kill" or event.resource.host not in window.hosts:
                continue
            entity = window.host_entity(window.hosts.index(event.resource.host))
            whose = rank_of(event)
            ours = whose is not None
            whose_text = f"rank {whose}" if ours else "a process"
            findings.append(
                report_event(
                    window,
                    self.name,
                    "host.oom_killed",
                    entity,
                    event,
                    score=3.0 if ours else 1.0,
                    observed=f"pid {event.attributes.get('pid', '?')}",
                    text=f"the kernel killed {whose_text} on host {entity.id} for memory",
                    ranks=(whose,) if whose is not None else (),
                )
            )
        return findings

    def _memory(self, window: JobWindow) -> list[Finding]:
        """Return one finding a host whose memory was used up by the words of a process on it."""
        findings: dict[str, Finding] = {}
        wished = min(stops.wishes(window), default=np.inf)
        for event in own_events(window):
            if event.name != "log.fault" or event.at >= wished:
                continue
            refused = signature_of(event) == _REFUSED and is_root(event)
            if not refused and not says(window, event, _WORKER):
                continue
            row = window.row_of_event(event)
            host = event.resource.host if row is None else window.host_name(row)
            if host not in window.hosts or host in findings:
                continue
            entity, whose = window.host_entity(window.hosts.index(host)), rank_of(event)
            what = (
                f"a process on host {host} got no more memory: {first_line(text_of(event))}"
                if refused
                else f"a data loader's worker on host {host} was killed, by the kernel most likely"
            )
            findings[host] = report_event(
                window,
                self.name,
                "host.memory_refused" if refused else "host.worker_killed",
                entity,
                event,
                score=2.0,
                observed="refused" if refused else "signal 9",
                text=what,
                ranks=() if whose is None else (whose,),
            )
        return list(findings.values())


def crashed(
    window: JobWindow,
    detector: str,
    ranks: Sequence[int],
    how: str,
    *,
    onset: float | tuple[float, float],
    seen: tuple[float, float],
    score: float,
    signal: str,
) -> Finding:
    """Return the symptom that so many ranks of the job are gone; `how`: what is known of it."""
    return report(
        window,
        detector,
        "job.crashed",
        window.entity,
        onset=onset,
        seen=seen,
        magnitude=float(len(ranks)),
        score=score,
        signal=signal,
        observed=float(len(ranks)),
        expected=0.0,
        text=f"{len(ranks)} of {window.world_size} ranks {how}",
        ranks=ranks,
    )


def _suspects(exits: Sequence[Event], cut: set[int]) -> Sequence[Event]:
    """Return the exits that may be the first, of those given oldest first.

    Not those of ranks whose logs say that a peer was gone, nor those that somebody asked for after
    another had ended by itself: a launcher does so. Where nothing is left, everybody is one.
    """
    own = min((event.at for event in exits if not is_stop(event)), default=np.inf)
    asked = [event for event in exits if code_of(event) in stops.WISHED and event.at > own]
    return [event for event in exits if rank_of(event) not in cut and event not in asked] or exits


def _unsaid(window: JobWindow) -> set[int | None]:
    """Return the ranks whose logs end without an error: of several nobody knows who was first."""
    return {
        rank_of(event)
        for event in window.named("log.fault")
        if event.attributes.get("signature") == ENDS
    }


def _how(event: Event) -> str:
    code = code_of(event)
    if code is None:
        return "exit code unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
