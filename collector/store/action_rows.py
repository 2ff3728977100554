"""Rows of what people did about incidents, read in their order."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from .documents import HandlingAction
from .tables import actions


def of(db: Connection, incident: str) -> list[HandlingAction]:
    """Return what people did about an incident, in order."""
    found = db.execute(
        select(actions).where(actions.c.incident == incident).order_by(actions.c.number)
    )
    return [_action(row) for row in found]


def of_each(db: Connection, ids: Sequence[str]) -> dict[str, list[HandlingAction]]:
    """Return what people did about some incidents, by incident."""
    if not ids:
        return {}
    found = db.execute(
        select(actions).where(actions.c.incident.in_(ids)).order_by(actions.c.number)
    )
    done: dict[str, list[HandlingAction]] = {}
    for row in found:
        done.setdefault(row.incident, []).append(_action(row))
    return done


def _action(row: Row[Any]) -> HandlingAction:
    details = json.loads(row.details)
    settled = bool(details.pop("settled", False))
    return HandlingAction(row.kind, row.at, row.author, row.note, details, settled)
