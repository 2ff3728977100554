"""Processes that ended abnormally, and which of them ended first."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..vocabulary.findings import Finding
from ..vocabulary.samples import Event, Scalar
from .contract import Detector
from .findings import report
from .tenants import own_events
from .window import JobWindow

_SIGKILL, _SIGTERM, _SIGINT = 9, 15, 2
_STOPS = (0, -_SIGTERM, -_SIGINT, -_SIGKILL)

GRACE_SECONDS = 75.0
"""A scheduler kills what has not ended so long after SIGTERM: 30 to 60 s, and polling."""

POLLED_SECONDS = 1.5
"""Exits are seen by polling: within this time their order is not known."""

_WISHES = re.compile(
    r"pre-?empt|cancel|requeue|time.?limit|scal|drain|stop|terminat", re.IGNORECASE
)
"""Reasons of a scheduler that end a job without a fault."""


class Exits(Detector):
    """Order the abnormal exits of a job's ranks: the first one is the suspect, the rest cascade.

    An exit is abnormal with a signal or a code other than 0. SIGTERM and SIGINT are somebody's
    wish: they count only while another rank of the job ended otherwise. A job is stopped, not
    crashed, when most of its ranks end by SIGTERM, SIGINT or in order, or a scheduler or the ranks
    themselves announced it, and what follows within the grace period are SIGKILLs and the errors
    of those whose peers were gone. All ranks killed by SIGKILL together, without a kernel that
    says it lacked memory, are stopped as well: over several hosts that is certain, on one host it
    is a first word only, and names nobody. A rank whose log says that a peer closed the connection
    ended because of that peer, however early its exit was seen. An exit that steps of the same rank
    follow is over: the job was restarted.

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
    >>> for finding in Exits().evaluate(window):
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
    kinds = ("job.crashed", "rank.first_exit", "rank.root_log", "host.oom_killed")

    def __init__(self, *, together: float = 0.05) -> None:
        self.together = together

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the symptom, the first exit, root log lines, and OOM kills of the job's hosts."""
        findings = [*self._logs(window), *self._kills(window)]
        exits = self._abnormal(window)
        if not exits:
            return findings
        cascade = {
            rank
            for event in window.events
            if event.name == "log.fault"
            and event.attributes.get("role") == "cascade"
            and (rank := _rank(event)) is not None
        }
        root = {_rank(event) for event in window.events if _is_root(event)}
        suspects = [event for event in exits if _rank(event) not in cascade - root] or exits
        earliest = min(event.at for event in suspects)
        together = [event for event in suspects if event.at <= earliest + self.together]
        first = min(
            together,
            key=lambda e: (_rank(e) not in root, _code(e.attributes) == -_SIGTERM, e.at, _rank(e)),
        )
        alone = len(together) == 1 or (
            _rank(first) in root and sum(_rank(event) in root for event in together) == 1
        )
        ended = sorted({rank for event in exits if (rank := _rank(event)) is not None})
        onset = (min(event.at for event in exits), first.at)
        killed = self._killed_together(window, exits)
        findings.append(
            report(
                window,
                self.name,
                "job.crashed",
                window.entity,
                onset=(min(onset), max(onset)),
                seen=(exits[0].at, exits[-1].at),
                magnitude=float(len(ended)),
                score=1.0 if killed else 3.0,
                signal="process.exit",
                observed=float(len(ended)),
                expected=0.0,
                text=f"{len(ended)} of {window.world_size} ranks "
                + ("were killed together, as a scheduler does" if killed else "ended abnormally"),
                ranks=ended,
            )
        )
        row = window.row_of(_rank(first) or 0)
        if row is not None and not killed:
            how = _how(first.attributes)
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
                    text=f"rank {_rank(first)} ended first: {how}",
                )
            )
        return findings

    def _abnormal(self, window: JobWindow) -> list[Event]:
        """Return abnormal exits of ranks, oldest first; none of a job that was stopped."""
        seen: dict[int, Event] = {}
        for event in window.events:
            rank = _rank(event)
            if event.name != "process.exit" or rank is None or rank in seen:
                continue
            if event.attributes.get("role") == "dataloader" or _stepped_after(window, rank, event):
                continue
            seen[rank] = event
        shutdown = {
            _rank(event)
            for event in window.events
            if event.name == "training.phase" and event.attributes.get("phase") == "shutdown"
        }
        # A vanished process whose code nobody saw ended in order only if it said so before.
        valid = [
            event
            for event in seen.values()
            if (code := _code(event.attributes)) != 0
            and (code is not None or _rank(event) not in shutdown)
        ]
        ordered = sorted(valid, key=lambda event: event.at)
        return [] if self._stopped(window, list(seen.values()), ordered, shutdown) else ordered

    def _stopped(
        self,
        window: JobWindow,
        exits: Sequence[Event],
        abnormal: Sequence[Event],
        shutdown: set[int | None],
    ) -> bool:
        """Tell whether somebody stopped the job: what there is of exits follows such a wish."""
        wished = [e for e in abnormal if _code(e.attributes) in (-_SIGTERM, -_SIGINT)]
        if len(wished) == len(abnormal):
            return True
        if self._killed_together(window, abnormal) and len(window.hosts) > 1:
            return True  # no fault reaches the processes of several hosts with SIGKILL
        announced = [
            event.at
            for event in window.events
            if event.name == "scheduler.event" and _WISHES.search(_reason(event))
        ]
        leaving = [
            event.at
            for event in window.events
            if event.name == "training.phase" and event.attributes.get("phase") == "shutdown"
        ]
        if len(shutdown) > len(window.ranks) / 2:
            announced.append(min(leaving))
        began = min(announced or [event.at for event in wished], default=np.inf)
        stops = sum(_code(event.attributes) in _STOPS for event in exits)
        if not np.isfinite(began) or 2 * stops < len(exits) or _root_before(window, began):
            return False
        # Seen in one poll, a kill and the launcher's SIGTERM that follows it have no order.
        margin = 0.0 if announced else POLLED_SECONDS
        return all(
            code in (-_SIGTERM, -_SIGINT)
            or (code == -_SIGKILL and began + margin <= event.at <= began + GRACE_SECONDS)
            or (bool(wished) and began + POLLED_SECONDS < event.at <= began + GRACE_SECONDS)
            for event in abnormal
            for code in (_code(event.attributes),)
        )

    def _killed_together(self, window: JobWindow, exits: Sequence[Event]) -> bool:
        """Tell whether SIGKILL ended every rank at once, and the kernel did not do it."""
        codes = {_code(event.attributes) for event in exits}
        ranks = {_rank(event) for event in exits}
        if len(window.ranks) < 2 or codes != {-_SIGKILL} or len(ranks) < len(window.ranks):
            return False
        if any(
            event.name == "host.oom_kill"
            or (event.name == "scheduler.event" and not _WISHES.search(_reason(event)))
            for event in window.events
        ):
            return False
        return exits[-1].at - exits[0].at <= GRACE_SECONDS and not _root_before(
            window, exits[-1].at
        )

    def _logs(self, window: JobWindow) -> list[Finding]:
        findings: dict[int, Finding] = {}
        for event in own_events(window):
            rank = _rank(event)
            if not _is_root(event) or rank is None or rank in findings:
                continue
            row = window.row_of(rank)
            if row is None:
                continue
            signature = str(event.attributes.get("signature", ""))
            text = str(event.attributes.get("text", "")).strip().splitlines()
            line = text[0][:160] if text else ""
            findings[rank] = report(
                window,
                self.name,
                "rank.root_log",
                window.rank_entity(row),
                onset=event.at,
                seen=(event.at, event.at),
                score=2.0,
                signal="log.fault",
                observed=signature,
                text=f"rank {rank} logged {signature}: {line}".rstrip(": "),
            )
        return list(findings.values())

    def _kills(self, window: JobWindow) -> list[Finding]:
        findings = []
        for event in own_events(window):
            if event.name != "host.oom_kill" or event.resource.host not in window.hosts:
                continue
            entity = window.host_entity(window.hosts.index(event.resource.host))
            whose = _rank(event)
            ours = whose is not None
            whose_text = f"rank {whose}" if ours else "a process"
            findings.append(
                report(
                    window,
                    self.name,
                    "host.oom_killed",
                    entity,
                    onset=event.at,
                    seen=(event.at, event.at),
                    score=3.0 if ours else 1.0,
                    signal="host.oom_kill",
                    observed=f"pid {event.attributes.get('pid', '?')}",
                    text=f"the kernel killed {whose_text} on host {entity.id} for memory",
                    ranks=(whose,) if whose is not None else (),
                )
            )
        return findings


def is_stop(event: Event) -> bool:
    """Tell whether a process ended in order, or by a signal that somebody sent it."""
    return _code(event.attributes) in _STOPS


def being_ended(window: JobWindow, last: float) -> bool:
    """Tell whether ranks ended since the last step at `last`: crashed, or asked to end just now.

    The others then wait for them, and that is no stall. Ranks that ended in order and left the
    others waiting, and ones ended by a signal longer ago than the grace period, are.
    """
    for event in window.events:
        if event.name != "process.exit" or event.at < last or _rank(event) is None:
            continue
        code = _code(event.attributes)
        wished = code in (-_SIGTERM, -_SIGINT)
        if event.attributes.get("role") == "dataloader" or code == 0 or code is None:
            continue
        if not wished or window.now - event.at < GRACE_SECONDS:
            return True
    return False


def _stepped_after(window: JobWindow, rank: int, event: Event) -> bool:
    """Tell whether the rank ended a step after this exit: the job was restarted."""
    row = window.row_of(rank)
    if row is None or not window.steps.at.shape[1]:
        return False
    ends = window.steps.at[row]
    newest = ends[np.isfinite(ends)]
    return bool(len(newest)) and float(newest.max()) > event.at + 0.5


def _reason(event: Event) -> str:
    return f"{event.attributes.get('reason', '')} {event.attributes.get('text', '')}"


def _root_before(window: JobWindow, at: float) -> bool:
    """Tell whether a rank logged an error of its own, or a device failed, until `at`."""
    return any(
        (_is_root(event) or event.name == "gpu.fault") and event.at <= at
        for event in own_events(window)
    )


def _rank(event: Event) -> int | None:
    rank = event.attributes.get("rank")
    return rank if isinstance(rank, int) and not isinstance(rank, bool) else None


def _is_root(event: Event) -> bool:
    return event.name == "log.fault" and event.attributes.get("role") == "root"


def _code(attributes: Mapping[str, Scalar]) -> int | None:
    """Return the exit code, negative for a signal (a shell's 128 + n too); None if unknown."""
    signal, code = _whole(attributes.get("signal")), _whole(attributes.get("exit_code"))
    if signal:
        return -signal
    if code is not None and 128 < code < 160:
        return 128 - code
    return code


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _how(attributes: Mapping[str, Scalar]) -> str:
    code = _code(attributes)
    if code is None:
        return "exit code unknown"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
