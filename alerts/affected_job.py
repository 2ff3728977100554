"""One job's part in an incident: its symptoms, how it does, and what the incident costs it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding
from ..vocabulary.ids import Job
from ..vocabulary.incidents import Symptom
from . import impact

GONE_SECONDS = 300.0
"""A job of which nothing was received for so long is over; a restart takes less."""

_SINCE = re.compile(r"\bsince step \d+")


@dataclass(frozen=True, slots=True)
class JobHealth:
    """What an incident needs to know of its job besides findings: size and health at `now`."""

    ranks: int
    nodes: int
    cluster: str | None
    attempt: int
    last_step_at: float
    """When the newest step of this attempt ended; -inf before its first."""
    silent_seconds: float
    step_seconds: float = 0.0
    """How far apart its steps are reported, 0 where nobody can tell."""

    @property
    def over(self) -> bool:
        """Return whether the job has ended."""
        return self.silent_seconds > GONE_SECONDS


@dataclass(slots=True)
class AffectedJob:
    """The part of one job; `symptoms` by kind and entity, as first and as last found."""

    job: Job
    attempt: int
    opened_at: float
    health: JobHealth
    symptoms: dict[tuple[str, str, str], Symptom] = field(default_factory=dict)
    active: tuple[Finding, ...] = ()
    last_active: float = 0.0
    slowdown: float | None = None
    loss: impact.Loss = field(default_factory=impact.Loss)
    charged: float = 0.0

    def found(
        self, symptoms: Sequence[Finding], health: JobHealth, now: float, *, sharers: int
    ) -> list[str]:
        """Take the symptoms of `now`, at least one; return the texts of those that are new."""
        new: list[str] = []
        for finding in symptoms:
            key = (finding.kind, finding.entity.type, finding.entity.id)
            held = self.symptoms.get(key)
            if held is None:
                new.append(finding.text)
            self.symptoms[key] = _symptom(finding, held)
            if kinds.catalogue()[finding.kind].effect == "slows":
                self.slowdown = finding.magnitude
        self.active, self.last_active = tuple(symptoms), now
        self.health, self.attempt = health, max(self.attempt, health.attempt)
        self._charge(now, sharers)
        return new

    def absent(self, health: JobHealth, now: float) -> str | None:
        """Take a second without symptoms; return why they are over for good, None where open."""
        self.health = health
        if self.stopped and not health.over:
            self._charge(now, 1)  # a restart takes time: lost until a step ends
        else:
            self.loss.pause(now)
        if health.over:
            ended = now - health.silent_seconds
            self.last_active = max(min(self.last_active, ended), self.opened_at)
            stopped = any(kinds.catalogue()[kind].effect == "stops" for kind, *_ in self.symptoms)
            return "the job ended without a restart" if stopped else "the job has ended"
        since = self.last_active - 1.0 if health.attempt == self.attempt else self.opened_at
        return "training goes on" if health.last_step_at > since else None

    @property
    def stopped(self) -> bool:
        """Return whether no step ended when the symptoms were last found."""
        last_step_at = self.health.last_step_at
        return any(impact.stopped(symptom, last_step_at) for symptom in self.active)

    @property
    def gpu_seconds_lost(self) -> float:
        """Return what was lost by now."""
        return self.charged

    def _charge(self, now: float, sharers: int) -> None:
        share, onset = impact.lost_share(self.active, self.health.last_step_at)
        # Ranks of a job that stands still are held; of what ended, time after its last data is not
        # known to be lost.
        end = now if self.stopped else now - self.health.silent_seconds
        begun = max(onset, self.health.last_step_at) if self.stopped else onset
        before = self.loss.seconds
        self.loss.charge(share, max(begun, self.opened_at), end)
        self.charged += (self.loss.seconds - before) * self.health.ranks / sharers


def is_history(symptom: Finding, health: JobHealth) -> bool:
    """Return whether a symptom that stopped the job is over: the same attempt steps again."""
    return (
        kinds.catalogue()[symptom.kind].effect == "stops"
        and symptom.entity.type == "job"
        and symptom.attempt == health.attempt
        and not impact.stopped(symptom, health.last_step_at)
    )


def _symptom(finding: Finding, held: Symptom | None) -> Symptom:
    """Return a symptom with its first onset, in the words too, and its newest size."""
    text = finding.text
    if held is not None and (first := _SINCE.search(held.text)):
        text = _SINCE.sub(first[0], text)
    return Symptom(
        kind=finding.kind,
        entity=finding.entity,
        onset=finding.onset[0] if held is None else held.onset,
        magnitude=finding.magnitude,
        detector=finding.detector if held is None else held.detector,
        text=text,
        ranks=finding.ranks or (held.ranks if held is not None else finding.ranks),
    )
