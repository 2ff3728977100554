"""Rows of what people did about incidents, read in their order."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from .documents import Action
from .tables import actions


def of(db: Connection, incident: str) -> list[Action]:
    """Return what people did about an incident, in order."""
    found = db.execute(
        select(actions).where(actions.c.incident == incident).order_by(actions.c.number)
    )
    return [_action(row) for row in found]


def of_each(db: Connection, ids: Sequence[str]) -> dict[str, list[Action]]:
    """Return what people did about some incidents, by incident."""
    if not ids:
        return {}
    found = db.execute(
        select(actions).where(actions.c.incident.in_(ids)).order_by(actions.c.number)
    )
    done: dict[str, list[Action]] = {}
    for row in found:
        done.setdefault(row.incident, []).append(_action(row))
    return done


def _action(row: Row[Any]) -> Action:
    details = json.loads(row.details)
    settled = bool(details.pop("settled", False))
    return Action(row.kind, row.at, row.author, row.note, details, settled)
