"""Rows of what people did about incidents: written once each, with the changes that it made.

The state machine decides what an action does to its incident, and its document says so. Only an
incident that the machine has given up (resolved long ago, or of before a lost snapshot) has its
status from here.
"""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, insert, select, update

from ...alerts.ports import StorableChange
from ..journal.actions import RecordedAction
from . import action_rows, documents, incidents
from .documents import HandlingAction
from .incidents import RecordedChange
from .tables import actions
from .tables import incidents as rows

_WORDS = {"acknowledge": "ack"}
"""Kinds of actions as the API and older rows call them."""


def enter(
    db: Connection, entered: RecordedAction, changes: Sequence[StorableChange]
) -> list[RecordedChange]:
    """Write an action and its changes; return what is new, nothing where it is known."""
    done = entered.action
    incident = str(done.incident)
    row = db.execute(select(rows).where(rows.c.id == incident)).one_or_none()
    action = HandlingAction(
        kind=_WORDS.get(done.kind, done.kind),
        at=done.at,
        author=done.by,
        note=str(done.detail.get("note", "")),
        details={name: value for name, value in done.detail.items() if name != "note"},
        settled=bool(changes),
    )
    if row is None or _known(db, incident, action):
        return [new for change in changes if (new := incidents.record(db, change))]
    before = action_rows.of(db, incident)
    if not changes and _changes_nothing(action, row.status):
        return []
    number = db.execute(
        insert(actions).values(
            incident=incident,
            kind=action.kind,
            at=action.at,
            author=action.author,
            note=action.note,
            details=documents.written({**action.details, "settled": action.settled}),
        )
    ).inserted_primary_key
    if changes:
        return [new for change in changes if (new := incidents.record(db, change))]
    values: dict[str, Any] = {
        "status": documents.status(row.machine_status, [*before, action]),
        "updated_at": max(row.updated_at, action.at),
    }
    if action.kind == "ack":
        values["acknowledged_at"] = action.at
    if action.kind == "resolve":
        values["resolved_at"] = action.at
    db.execute(update(rows).where(rows.c.id == incident).values(**values))
    kinds = {"ack": "incident.acknowledged", "resolve": "incident.resolved"}
    return [
        RecordedChange(
            kind=kinds.get(action.kind, "incident.updated"),
            at=action.at,
            document=documents.shown(json.loads(row.document), [*before, action]),
            notify=action.kind in kinds,
            key=f"action {number[0] if number else 0}",
        )
    ]


def _known(db: Connection, incident: str, action: HandlingAction) -> bool:
    """Tell whether this very action was written before.

    No two of people have the same receive time; two steps of what the collector did may.
    """
    mine = and_(
        actions.c.incident == incident,
        actions.c.at == action.at,
        actions.c.kind == action.kind,
        actions.c.note == action.note,
    )
    return db.execute(select(actions.c.number).where(mine)).first() is not None


def _changes_nothing(action: HandlingAction, status: str) -> bool:
    """Tell whether an action says again what is so already."""
    if action.kind == "ack":
        return status != "open"
    return action.kind == "resolve" and status == "resolved"
