"""What happened in a case and what was reported of it, as values that survive a JSON file."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.entities import Entity
from ...vocabulary.faults import SEVERITIES, UNKNOWN, Severity
from ...vocabulary.incidents import Confidence, Incident
from ...vocabulary.observations import JobObservation
from ...vocabulary.ranks import RankSet

GROWTH = (
    "rank.gpu_memory_grows",
    "job.gpu_memory_grows",
    "process.memory_grows",
    "process.worker_memory_grows",
)
"""Findings whose observed value is a growth in bytes a second."""


@dataclass(frozen=True, slots=True)
class CaseTruth:
    """What went wrong: the fault's id, the entity, the job; times in epoch seconds.

    `until` is when the fault ends, infinite where it lasts; `ranks` of the entity are those that
    are placed on it. `growth` is how fast memory leaks (bytes a second, of one process or rank),
    None where none does. `effects` are moments of effect by name (simulator/moments.py): when a
    rank was first 5 or 10 % slower, stood still, or a value was not finite. `shown`: when the first
    report that can show the onset or an effect arrived (simulator/arrivals.py). `accepted`: other
    entities that name the fault as well; the vocabulary has no entity for a rack of hosts, or for
    the expert groups that share a router.
    """

    fault: str
    entity: Entity
    job: str
    onset: float
    until: float = float("inf")
    growth: float | None = None
    effects: Mapping[str, float] = field(default_factory=dict[str, float])
    shown: Mapping[str, float] = field(default_factory=dict[str, float])
    accepted: tuple[Entity, ...] = ()

    @property
    def entities(self) -> tuple[Entity, ...]:
        """Return every entity that names the fault, the one that is kept as its own first."""
        return (self.entity, *self.accepted)

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON; `until` is None where the fault lasts."""
        return {
            "fault": self.fault,
            "entity": self.entity.document(),
            "job": self.job,
            "onset": self.onset,
            "until": self.until if self.until != float("inf") else None,
            "growth": self.growth,
            "effects": dict(self.effects),
            "shown": dict(self.shown),
            "accepted": [entity.document() for entity in self.accepted],
        }


@dataclass(frozen=True, slots=True)
class NamedHypothesis:
    """One hypothesis of an incident; `probability` is None where nothing is calibrated."""

    fault: str
    entity: Entity
    probability: float | None
    confidence: Confidence

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "fault": self.fault,
            "entity": self.entity.document(),
            "probability": self.probability,
            "confidence": self.confidence,
        }


MOST_NAMED = 3
"""So many hypotheses of an incident are kept."""


@dataclass(frozen=True, slots=True)
class SeenIncident:
    """One incident as a suite keeps it. Times in epoch seconds.

    `severity` is the worst that was reported, `opened_at` the onset as reported (event time),
    `detected_at` when it was first reported at all, `above_info_at` when first above info (None:
    never). `fault` and `entity` are those of the first hypothesis at the end; `standing_out` are
    the ranks that its symptoms name, `named` the first hypotheses in order. `growth` is how fast
    memory was first said to grow (bytes a second), None where it was not. `observed`: it is an
    observation and no incident; it has one symptom and names no cause.
    """

    id: str
    jobs: tuple[str, ...]
    severity: Severity
    opened_at: float
    detected_at: float
    above_info_at: float | None
    fault: str
    entity: Entity | None
    standing_out: RankSet
    symptoms: tuple[str, ...]
    summary: str
    growth: float | None = None
    named: tuple[NamedHypothesis, ...] = ()
    unknown: float | None = None
    observed: bool = False

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "id": self.id,
            "jobs": list(self.jobs),
            "severity": self.severity,
            "opened_at": self.opened_at,
            "detected_at": self.detected_at,
            "above_info_at": self.above_info_at,
            "fault": self.fault,
            "entity": None if self.entity is None else self.entity.document(),
            "standing_out": self.standing_out.document(),
            "symptoms": list(self.symptoms),
            "summary": self.summary,
            "growth": self.growth,
            "named": [row.document() for row in self.named],
            "unknown": self.unknown,
            "observed": self.observed,
        }


def of_observation(row: JobObservation, detected_at: float) -> SeenIncident:
    """Return what is kept of an observation; `detected_at`: when it was first reported."""
    return SeenIncident(
        id=f"{row.kind} {row.entity} {row.at}",
        jobs=(row.job,),
        severity="info",
        opened_at=row.at,
        detected_at=detected_at,
        above_info_at=None,
        fault=UNKNOWN,
        entity=row.entity,
        standing_out=RankSet(),
        symptoms=(row.kind,),
        summary=row.text,
        observed=True,
    )


def of_incident(
    incident: Incident,
    now: float,
    before: SeenIncident | None = None,
    grows: Mapping[tuple[str, Entity], float] | None = None,
) -> SeenIncident:
    """Return what is kept of an incident, changed at `now`; `before` is what was kept of it.

    grows: how fast memory was said to grow (bytes a second), by kind and entity of the finding.
    """
    growth = None if before is None else before.growth
    if growth is None and grows:
        found = (grows.get((row.kind, row.entity)) for row in incident.symptoms)
        growth = next((one for one in found if one is not None), None)
    hypotheses = incident.root_cause.hypotheses
    first = hypotheses[0] if hypotheses else None
    severity, above = incident.severity, now if incident.severity != "info" else None
    if before is not None:
        severity = worst([severity, before.severity])
        above = above if before.above_info_at is None else before.above_info_at
    return SeenIncident(
        id=incident.id,
        jobs=incident.jobs,
        severity=severity,
        opened_at=incident.opened_at,
        detected_at=incident.detected_at,
        above_info_at=above,
        fault=first.fault if first else UNKNOWN,
        entity=first.entity if first else None,
        standing_out=_standing_out(incident),
        symptoms=tuple(sorted({row.kind for row in incident.symptoms})),
        summary=incident.summary,
        growth=growth,
        named=tuple(
            NamedHypothesis(row.fault, row.entity, row.probability, row.confidence)
            for row in hypotheses[:MOST_NAMED]
        ),
        unknown=incident.root_cause.unknown.score,
    )


def worst(severities: Collection[Severity]) -> Severity:
    """Return the worst of these severities, of which there is at least one."""
    return next(severity for severity in SEVERITIES if severity in severities)


def truth(row: Mapping[str, Any] | None) -> CaseTruth | None:
    """Return the truth of a document, None where nothing went wrong."""
    if row is None:
        return None
    until = float("inf") if row["until"] is None else float(row["until"])
    at, growth = float(row["onset"]), row.get("growth")
    effects = row.get("effects", {})
    shown = row.get("shown", {})
    accepted = tuple(entity(one) for one in row.get("accepted", ()))
    true = entity(row["entity"])
    return CaseTruth(row["fault"], true, row["job"], at, until, growth, effects, shown, accepted)


def seen(row: Mapping[str, Any]) -> SeenIncident:
    rest: dict[str, Any] = dict(row)
    rest["jobs"] = tuple(row["jobs"])
    rest["entity"] = None if row["entity"] is None else entity(row["entity"])
    rest["standing_out"] = _ranks(row["standing_out"])
    rest["symptoms"] = tuple(row["symptoms"])
    rest["named"] = tuple(
        NamedHypothesis(one["fault"], entity(one["entity"]), one["probability"], one["confidence"])
        for one in row.get("named", ())
    )
    return SeenIncident(**rest)


def entity(row: Mapping[str, Any]) -> Entity:
    return Entity(row["type"], row["id"], row["host"], _ranks(row["ranks"]))


def _ranks(listed: Iterable[int | str]) -> RankSet:
    text = ",".join(map(str, listed))
    return RankSet.parse(text) if text else RankSet()


def _standing_out(incident: Incident) -> RankSet:
    """Return the ranks that stand out in a symptom, or that one is about."""
    found: set[int] = set()
    for row in incident.symptoms:
        found |= row.ranks.members
        if row.entity.type == "rank":
            found |= row.entity.ranks.members
    return RankSet(found)
