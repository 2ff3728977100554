"""What people did about an incident, read from its document.

A start without a snapshot knows an open incident from the store alone; what people did about it
goes on with it.
"""

from collections.abc import Mapping
from typing import Any

from ..vocabulary.handling import CauseFeedback, HandlingStep, IncidentHandling
from ..vocabulary.incidents import TimelineMoment
from ..vocabulary.times import parse

PEOPLE = frozenset(("acknowledged", "assigned", "feedback", "action"))
"""Kinds of a timeline's entries that say what was done about it while the incident was open."""


def handling(document: Mapping[str, Any]) -> IncidentHandling:
    """Return what people did, from an incident document; nothing where it says nothing."""
    held: Mapping[str, Any] = document.get("handling") or {}
    return IncidentHandling(
        acknowledged=_handled(held.get("acknowledged")),
        assignee=held.get("assignee"),
        resolved=_handled(held.get("resolved")),
        feedback=tuple(_feedback(row) for row in held.get("feedback", ())),
    )


def moments(document: Mapping[str, Any]) -> tuple[TimelineMoment, ...]:
    """Return the timeline's entries of people, from an incident document."""
    return tuple(
        TimelineMoment(parse(row["at"]), row["kind"], row["text"])
        for row in document.get("timeline", ())
        if row["kind"] in PEOPLE
    )


def _handled(row: Mapping[str, Any] | None) -> HandlingStep | None:
    return None if row is None else HandlingStep(parse(row["at"]), row["by"], row["note"])


def _feedback(row: Mapping[str, Any]) -> CauseFeedback:
    return CauseFeedback(
        at=parse(row["at"]),
        by=row["by"],
        verdict=row["verdict"],
        fault=row["fault"],
        entity=row["entity"],
        note=row["note"],
    )
