"""A job that another partition evaluates, as a part of an incident here."""

from dataclasses import dataclass

from ...vocabulary.incidents import TimelineMoment
from ..affected_job import AffectedJob, JobHealth
from ..first_cause import named
from ..lifecycle import REFRESH_SECONDS, IncidentChange, TrackedIncident
from ..severity import worse
from .messages import IncidentPart


@dataclass(slots=True)
class JobElsewhere(AffectedJob):
    """What its partition says about it."""

    stands: bool = False
    over: bool = False
    as_of: float = 0.0

    def absent(self, health: JobHealth, now: float) -> str | None:
        """Return why it is no part any more, None while it is one."""
        del health, now
        return "training goes on" if self.over else None

    @property
    def stopped(self) -> bool:
        """Return whether no step ended when it last reported."""
        return self.stands


def part_of(incident: TrackedIncident, job: AffectedJob, *, over: bool, at: float) -> IncidentPart:
    """Return a job's part in an incident here, for the incident that this one is folded into."""
    return IncidentPart(
        into=incident.id,
        job=job.job,
        attempt=job.attempt,
        opened_at=job.opened_at,
        health=job.health,
        symptoms=tuple(job.symptoms.values()),
        last_active=job.last_active,
        slowdown=job.slowdown,
        lost=tuple(sorted(job.lost.items())),
        stopped=job.stopped,
        severity=incident.severity,
        over=over,
        at=at,
    )


def take(incident: TrackedIncident, part: IncidentPart, now: float) -> IncidentChange | None:
    """Take a part of an incident from elsewhere; return the change, if material."""
    held = incident.parts.get(part.job)
    if not incident.open or incident.document is None or incident.first is None:
        return None
    if held is not None and not (isinstance(held, JobElsewhere) and held.as_of < part.at):
        return None
    one = incident.parts[part.job] = JobElsewhere(
        job=part.job,
        attempt=part.attempt,
        opened_at=part.opened_at,
        health=part.health,
        symptoms={(s.kind, s.entity.type, s.entity.id): s for s in part.symptoms},
        last_active=part.last_active,
        slowdown=part.slowdown,
        lost=dict(part.lost),
        stands=part.stopped,
        over=part.over,
        as_of=part.at,
    )
    if part.over:
        return incident.absent(part.job, part.health, now)
    known = set() if held is None else held.symptoms.keys()
    new = [symptom for key, symptom in one.symptoms.items() if key not in known]
    incident.timeline += (TimelineMoment(now, "symptom", symptom.text) for symptom in new)
    bad = worse(part.severity, incident.severity)
    if bad:
        text = f"{incident.severity} -> {part.severity}"
        incident.timeline.append(TimelineMoment(now, "severity", text))
        incident.severity = part.severity
    if not new and not bad and now - incident.document.updated_at < REFRESH_SECONDS:
        return None
    notify = incident.notices.due(incident.severity, named(incident.first.cause))
    return incident.change("incident.updated", now, notify=notify)
