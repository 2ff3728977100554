"""Processes that ended abnormally, and which of them ended first."""

from collections.abc import Mapping, Sequence

from ..vocabulary.findings import Finding
from ..vocabulary.samples import Event, Scalar
from .window import JobWindow

_SIGKILL, _SIGTERM, _SIGINT = 9, 15, 2


class Exits:
    """Order the abnormal exits of a job's ranks: the first one is the suspect, the rest cascade.

    An exit is abnormal with a signal or a code other than 0. SIGTERM and SIGINT are somebody's
    wish: they count only while another rank of the job ended otherwise. A rank whose log says that
    a peer closed the connection ended because of that peer, however early its exit was seen.

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
        first = min(together, key=lambda event: (_rank(event) not in root, event.at, _rank(event)))
        alone = len(together) == 1 or (
            _rank(first) in root and sum(_rank(event) in root for event in together) == 1
        )
        ended = sorted({rank for event in exits if (rank := _rank(event)) is not None})
        onset = (min(event.at for event in exits), first.at)
        onset = (min(onset), max(onset))
        findings.append(
            Finding(
                kind="job.crashed",
                job=window.job,
                attempt=window.attempt,
                entity=window.entity,
                onset=onset,
                magnitude=float(len(ended)),
                score=3.0,
                detector=self.name,
                signal="process.exit",
                window=(exits[0].at, exits[-1].at),
                observed=float(len(ended)),
                expected=0.0,
                text=f"{len(ended)} of {window.world_size} ranks ended abnormally",
            )
        )
        row = window.row_of(_rank(first) or 0)
        if row is not None:
            how = _how(first.attributes)
            findings.append(
                Finding(
                    kind="rank.first_exit",
                    job=window.job,
                    attempt=window.attempt,
                    entity=window.rank_entity(row),
                    onset=(first.at, first.at),
                    magnitude=1.0,
                    score=3.0 if alone else 1.5,
                    detector=self.name,
                    signal="process.exit",
                    window=(exits[0].at, exits[-1].at),
                    observed=how,
                    expected="exit code 0",
                    text=f"rank {_rank(first)} ended first: {how}",
                )
            )
        return findings

    def _abnormal(self, window: JobWindow) -> list[Event]:
        """Return abnormal exits of ranks, oldest first."""
        seen: dict[int, Event] = {}
        for event in window.events:
            rank = _rank(event)
            if event.name != "process.exit" or rank is None or rank in seen:
                continue
            if event.attributes.get("role") == "dataloader":
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
        wished = [e for e in valid if _code(e.attributes) in (-_SIGTERM, -_SIGINT)]
        if len(wished) == len(valid):
            return []
        return sorted(valid, key=lambda event: event.at)

    def _logs(self, window: JobWindow) -> list[Finding]:
        findings: dict[int, Finding] = {}
        for event in window.events:
            rank = _rank(event)
            if not _is_root(event) or rank is None or rank in findings:
                continue
            row = window.row_of(rank)
            if row is None:
                continue
            signature = str(event.attributes.get("signature", ""))
            text = str(event.attributes.get("text", "")).strip().splitlines()
            findings[rank] = Finding(
                kind="rank.root_log",
                job=window.job,
                attempt=window.attempt,
                entity=window.rank_entity(row),
                onset=(event.at, event.at),
                magnitude=1.0,
                score=2.0,
                detector=self.name,
                signal="log.fault",
                window=(event.at, event.at),
                observed=signature,
                expected=None,
                text=f"rank {rank} logged {signature}: {text[0][:160] if text else ''}".rstrip(
                    ": "
                ),
            )
        return list(findings.values())

    def _kills(self, window: JobWindow) -> list[Finding]:
        findings = []
        for event in window.events:
            if event.name != "host.oom_kill" or event.resource.host not in window.hosts:
                continue
            entity = window.host_entity(window.hosts.index(event.resource.host))
            whose = _rank(event)
            ours = whose is not None
            findings.append(
                Finding(
                    kind="host.oom_killed",
                    job=window.job,
                    attempt=window.attempt,
                    entity=entity,
                    onset=(event.at, event.at),
                    magnitude=1.0,
                    score=3.0 if ours else 1.0,
                    detector=self.name,
                    signal="host.oom_kill",
                    window=(event.at, event.at),
                    observed=f"pid {event.attributes.get('pid', '?')}",
                    expected=None,
                    text=f"the kernel killed {f'rank {whose}' if ours else 'a process'} on host "
                    f"{entity.id} for memory",
                )
            )
        return findings


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
