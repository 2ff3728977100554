"""What a person's action does to an incident. One that it has already changes nothing.

After a start without a snapshot an incident has what the store had, and the journal gives some of
the actions again.
"""

from dataclasses import replace

from ..vocabulary.handling import CauseFeedback, HandlingStep
from ..vocabulary.incidents import TimelineMoment
from ..vocabulary.inspection import IncidentProfile
from .actions import PersonAction
from .lifecycle import IncidentChange, TrackedIncident

MOST_PROFILES = 5
"""Profiles that an incident's document shows, the newest."""


def apply(action: PersonAction, incident: TrackedIncident, now: float) -> IncidentChange | None:
    """Apply an action; return the change, None when it changes nothing (acknowledged twice)."""
    if incident.document is None:
        return None
    note = str(action.detail.get("note", ""))
    done, handling = HandlingStep(action.at, action.by, note), incident.handling
    ending = f": {note}" if note else ""
    if action.kind == "acknowledge":
        if incident.resolved_at is not None or handling.acknowledged is not None:
            return None
        incident.handling = replace(handling, acknowledged=done)
        _note(incident, action, "acknowledged", f"acknowledged by {action.by}{ending}")
        return incident.change("incident.acknowledged", now, notify=True)
    if action.kind == "resolve":
        if incident.resolved_at is not None:
            return None
        incident.handling = replace(handling, resolved=done)
        text = f"resolved by {action.by}{ending}"
        return incident.resolve(now, text, at=action.at, notify=True)
    if action.kind == "assign":
        assignee = str(action.detail.get("assignee", ""))
        incident.handling = replace(handling, assignee=assignee)
        _note(incident, action, "assigned", f"assigned to {assignee} by {action.by}{ending}")
        return incident.change("incident.updated", now, notify=False)
    if action.kind == "feedback":
        given = _feedback(action, note)
        if any(row.document() == given.document() for row in handling.feedback):
            return None
        incident.handling = replace(handling, feedback=(*handling.feedback, given))
        text = f"{action.by}: the first cause is {given.verdict}"
        text += f", it was {given.fault}" if given.fault else ""
        _note(incident, action, "feedback", f"{text}{ending}")
        return incident.change("incident.updated", now, notify=False)
    if action.kind == "withdraw":
        if not handling.feedback:
            return None
        incident.handling = replace(handling, feedback=handling.feedback[:-1])
        text = f"{action.by} withdrew the feedback of {handling.feedback[-1].by}"
        _note(incident, action, "feedback", f"{text}{ending}")
        return incident.change("incident.updated", now, notify=False)
    if action.kind == "profile":
        profile = IncidentProfile.parse(action.at, action.detail)
        if any(one.id == profile.id for one in incident.profiles):
            return None
        incident.profiles = (*incident.profiles, profile)[-MOST_PROFILES:]
        _note(incident, action, "profile", profile.text)
        return incident.change("incident.updated", now, notify=False)
    if action.kind == "remedy":
        if not _note(incident, action, "action", note):
            return None
        return incident.change("incident.updated", now, notify=False)
    return None


def _feedback(action: PersonAction, note: str) -> CauseFeedback:
    verdict = action.detail.get("verdict")
    fault, entity = action.detail.get("fault"), action.detail.get("entity")
    return CauseFeedback(
        at=action.at,
        by=action.by,
        verdict="correct" if verdict == "correct" else "wrong" if verdict == "wrong" else "unsure",
        fault=None if fault is None else str(fault),
        entity=None if entity is None else str(entity),
        note=note,
    )


def _note(incident: TrackedIncident, action: PersonAction, kind: str, text: str) -> bool:
    moment = TimelineMoment(action.at, kind, text)
    if any(row.document() == moment.document() for row in incident.timeline):
        return False
    incident.timeline.append(moment)
    return True
