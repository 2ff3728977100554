"""One job's part in an incident: its symptoms, how it does, and what the incident costs it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding
from ..vocabulary.ids import Fault, Job
from ..vocabulary.incidents import Impact, Symptom, WeeklyLoss
from ..vocabulary.ranks import RankSet
from ..vocabulary.times import WEEK_SECONDS, week_of
from . import counterfactuals, impact

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
    first_at: float = float("-inf")
    """When this attempt first reported: nothing that it holds was lost before."""
    step_seconds: float = 0.0
    """How long a step usually takes, 0 where nobody can tell."""

    @property
    def over(self) -> bool:
        return self.silent_seconds > GONE_SECONDS


@dataclass(slots=True)
class AffectedJob:
    """The part of one job; `symptoms` by kind and entity, as first and as last found.

    `lost` has the GPU-seconds that were granted to it, by the Monday 00:00 UTC of their week.
    `cost` is what it costs now, None: nothing; `claimed` the time ranges claimed this second.
    """

    job: Job
    attempt: int
    opened_at: float
    health: JobHealth
    symptoms: dict[tuple[str, str, str], Symptom] = field(default_factory=dict)
    found_at: dict[tuple[str, str, str], float] = field(default_factory=dict)
    """When each symptom was last found."""
    active: tuple[Finding, ...] = ()
    last_active: float = 0.0
    slowdown: float | None = None
    claims: impact.TimeClaims = field(default_factory=impact.TimeClaims)
    claimed: tuple[tuple[float, float], ...] = ()
    cost: impact.SymptomCost | None = None
    lost: dict[int, float] = field(default_factory=dict)
    measured: counterfactuals.MeasuredLoss = field(default_factory=counterfactuals.MeasuredLoss)

    def found(self, symptoms: Sequence[Finding], health: JobHealth, now: float) -> list[str]:
        """Take the symptoms of `now`, at least one; return the texts of those that are new."""
        new: list[str] = []
        for finding in symptoms:
            key = (finding.kind, finding.entity.type, finding.entity.id)
            held = self.symptoms.get(key)
            if held is None:
                new.append(finding.text)
            self.symptoms[key], self.found_at[key] = _symptom(finding, held), now
            if kinds.catalogue()[finding.kind].slowdown:
                self.slowdown = finding.magnitude
        self.active, self.last_active = tuple(symptoms), now
        self.health, self.attempt = health, max(self.attempt, health.attempt)
        self._claim(now)
        return new

    def absent(self, health: JobHealth, now: float) -> str | None:
        """Take a second without symptoms; return why they are over for good, None where open."""
        self.health, self.claimed = health, ()
        if self.stopped and not health.over:
            self._claim(now)  # a restart takes time: lost until a step ends
        else:
            self.claims.pause(now)
            self.cost = None
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

    def measure(
        self, meter: counterfactuals.StepMeter, fault: Fault, ranks: RankSet, now: float
    ) -> None:
        """Compare the job's steps with those without the cause, where it is due and slows them."""
        slows = any(kinds.catalogue()[symptom.kind].effect == "slows" for symptom in self.active)
        if slows and not self.stopped and self.last_active >= now and self.measured.due(now):
            steps = meter(fault, ranks, self.opened_at)
            self.measured.take(steps, onset=self.opened_at, gpus=self.health.ranks, now=now)

    def take(self, begin: float, end: float, gpu_seconds: float) -> None:
        """Take what is granted of its claims between two times."""
        seconds = end - begin
        while begin < end:
            week = week_of(begin)
            part = min(end, week + WEEK_SECONDS) - begin
            self.lost[week] = self.lost.get(week, 0.0) + gpu_seconds * part / seconds
            begin += part

    def _claim(self, now: float) -> None:
        """Claim what the symptoms cost, up to `now`."""
        self.cost = found = impact.cost(self.active, self.health.last_step_at)
        # Ranks of a job that stands still are held; of what ended, time after its last data is not
        # known to be lost.
        end = now if self.stopped else now - self.health.silent_seconds
        begun = max(found.onset, self.health.last_step_at) if self.stopped else found.onset
        if self.claims.until is None:
            begun = max(begun, self.health.first_at)
        self.claimed = tuple(self.claims.claim(found.share, max(begun, self.opened_at), end))


def total(parts: Sequence[AffectedJob], *, ranks_at_cause: int) -> Impact:
    """Return what an incident costs its jobs."""
    stopped = any(part.stopped for part in parts)
    slow = [part.slowdown for part in parts if part.slowdown is not None]
    lost = [WeeklyLoss(part.job, *row) for part in parts for row in sorted(part.lost.items())]
    return Impact(
        ranks=sum(part.health.ranks for part in parts),
        nodes=sum(part.health.nodes for part in parts),
        slowdown=None if stopped else max(slow, default=1.0),
        gpu_seconds_lost=sum(row.gpu_seconds_lost for row in lost),
        jobs=len(parts),
        ranks_at_cause=ranks_at_cause,
        lost=tuple(lost),
        counterfactual=None if stopped else counterfactuals.total(part.measured for part in parts),
    )


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
