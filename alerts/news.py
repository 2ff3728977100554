"""Whether an explanation is about something that began later than what an open incident is of."""

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.ids import Job
from ..vocabulary.incidents import Hypothesis
from . import first_cause
from .affected_job import AffectedJob
from .causes.catalogue import cause_of
from .causes.engine import RootExplanation
from .lifecycle import TrackedIncident

CHANGED = 2.0
"""Factor by which what lasted must have become larger to be something new."""


def is_news(explanation: RootExplanation, incident: TrackedIncident, job: Job) -> bool:
    """Return whether what an explanation reports began later than what an incident is about."""
    part = incident.parts.get(job)
    if part is None:
        return False
    cause = cause_of(explanation.cause.hypotheses[0].fault)
    if cause is not None and cause.since_start:
        return _changed(explanation, incident, part)
    if _is_another(explanation, incident) or came_after(explanation, incident):
        return True
    return _became_slow(explanation, incident, part)


def came_after(explanation: RootExplanation, incident: TrackedIncident) -> bool:
    """Return whether a cause of slowness began only when an incident's own one was over.

    A cause precedes what it causes. A symptom that comes back, or goes on, under a cause of which
    nothing showed while the first one was there is not the first one's, and says nothing of it.
    """
    held, new = incident.first, explanation.cause.hypotheses[0]
    if not incident.announced or held is None or held.cause.status != "stable":
        return False
    faults_named = {held.cause.hypotheses[0].fault, new.fault}
    if len(faults_named) < 2 or faults.UNKNOWN in faults_named:
        return False
    if any(kinds.catalogue()[row.kind].effect != "slows" for row in explanation.symptoms):
        return False
    return supported_from(new) > held.supported_at


def supported_from(row: Hypothesis) -> float:
    """Return when the first finding that supports a hypothesis began (epoch s); -inf: none does."""
    return min(
        (term.window[0] for term in row.evidence if term.relation == "supports" and term.kind),
        default=float("-inf"),
    )


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
