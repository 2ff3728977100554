"""Whether an explanation with an open incident's root is about something that began later."""

from ..vocabulary import faults
from ..vocabulary.ids import Job
from . import first_cause
from .affected_job import AffectedJob
from .causes.catalogue import cause_of
from .causes.engine import RootExplanation
from .lifecycle import TrackedIncident

CHANGED = 2.0
"""Factor by which what lasted must have become larger to be something new."""


def is_news(explanation: RootExplanation, incident: TrackedIncident, job: Job) -> bool:
    """Return whether what an explanation reports began later than an incident of the same root."""
    part = incident.parts.get(job)
    if part is None:
        return False
    cause = cause_of(explanation.cause.hypotheses[0].fault)
    if cause is not None and cause.since_start:
        return _changed(explanation, incident, part)
    if _is_another(explanation, incident):
        return True
    return _became_slow(explanation, incident, part)


def _is_another(explanation: RootExplanation, incident: TrackedIncident) -> bool:
    """Return whether another cause of symptoms that began later is named beside a small incident.

    What costs little and has a name goes on as it is: a fault that comes on top is not its story.
    """
    root = first_cause.key(explanation.cause)
    return (
        incident.announced
        and incident.minor
        and root[0] not in (faults.UNKNOWN, incident.root[0])
        and all(row.onset[0] > incident.found_at for row in explanation.symptoms)
    )


def _changed(explanation: RootExplanation, incident: TrackedIncident, part: AffectedJob) -> bool:
    """Return whether what lasts has become much larger.

    A host may have a clock that is a second off for months. When it jumps by a minute, that is
    something new, which began then.
    """
    held = {
        (row.kind, row.entity.type, row.entity.id): row.magnitude for row in part.symptoms.values()
    }
    return all(
        row.onset[0] > incident.found_at
        and row.magnitude >= CHANGED * held.get((row.kind, row.entity.type, row.entity.id), 0.0)
        for row in explanation.symptoms
    )


def _became_slow(
    explanation: RootExplanation, incident: TrackedIncident, part: AffectedJob
) -> bool:
    """Return whether a job shows a symptom where all that was known is uneven devices."""
    devices_alone = {row.entity.type for row in part.symptoms.values()} == {"gpu"}
    return (
        devices_alone
        and incident.root[0] == faults.UNKNOWN
        and any(
            row.entity.type == "job" and row.onset[0] > incident.found_at
            for row in explanation.symptoms
        )
    )
