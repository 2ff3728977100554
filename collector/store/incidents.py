"""Rows of incidents: writing what evaluation decided, once, and reading pages of it."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Row,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from ...alerts.ports import StorableChange
from ...vocabulary.faults import UNKNOWN
from ...vocabulary.incidents import Incident
from . import action_rows, conditions, documents
from .tables import actions, incident_jobs, incidents


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change that was new: the document with what people did, and whether receivers hear of it.

    `key` tells this change from every other of the incident, the same in every repetition.
    `number` is its place among all changes, 0 before it has one.
    """

    kind: str
    at: float
    document: Mapping[str, Any]
    notify: bool
    key: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class IncidentFilter:
    """Which incidents: None takes all. `since`: those with any change at or after it (epoch s)."""

    status: str | None = None
    job: str | None = None
    severity: str | None = None
    fault: str | None = None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class IncidentPage:
    """Some documents, and the cursor of those after them (None: there are no more)."""

    items: list[dict[str, Any]]
    next_cursor: str | None


def record(db: Connection, change: StorableChange) -> RecordedChange | None:
    """Write a change; return None when the store has it, or something later.

    After a restart the last time range is evaluated again, from other windows: the same incident
    may be described in slightly other words, at a time for which the store already has an answer.
    """
    incident = change.incident
    document = incident.document()
    text = documents.written(document)
    key = documents.digest(text)
    row = db.execute(select(incidents).where(incidents.c.id == incident.id)).one_or_none()
    if row is not None and _known(row, incident):
        return None
    done = action_rows.of(db, incident.id)
    # Who asked for info receives it, though it pages nobody; its endless small news are no news.
    notify = change.notify or (incident.severity == "info" and change.kind != "incident.updated")
    values = _columns(incident, text, documents.status(incident.status, done))
    values["updated_at"] = max([incident.updated_at, *(action.at for action in done)])
    if row is None:
        kind: str = change.kind if incident.status == "resolved" else "incident.opened"
        db.execute(insert(incidents).values(id=incident.id, revision=1, **values))
    else:
        kind = "incident.updated" if change.kind == "incident.opened" else change.kind
        # Opened is sent once, and nobody wants more of what people resolved without the
        # state machine, which had given it up.
        people_resolved = row.status == "resolved" and row.machine_status != "resolved"
        notify = notify and change.kind != "incident.opened" and not people_resolved
        if people_resolved:
            values["resolved_at"] = row.resolved_at
        if incident.status == "acknowledged" and row.acknowledged_at is None:
            values["acknowledged_at"] = incident.updated_at
        db.execute(
            update(incidents)
            .where(incidents.c.id == incident.id)
            .values(revision=row.revision + 1, **values)
        )
    _keep_jobs(db, incident)
    return RecordedChange(kind, incident.updated_at, documents.shown(document, done), notify, key)


def trim(db: Connection, *, before: float) -> int:
    """Delete resolved incidents without a change since then; return how many."""
    over = select(incidents.c.id).where(
        incidents.c.status == "resolved", incidents.c.updated_at < before
    )
    db.execute(delete(actions).where(actions.c.incident.in_(over)))
    db.execute(delete(incident_jobs).where(incident_jobs.c.incident.in_(over)))
    gone = db.execute(
        delete(incidents).where(incidents.c.status == "resolved", incidents.c.updated_at < before)
    )
    return gone.rowcount


def _known(row: Row[Any], incident: Incident) -> bool:
    """Tell whether the store is as far as this change: each has its own time."""
    return bool(incident.updated_at <= row.machine_updated_at)


def _columns(incident: Incident, text: str, status: str) -> dict[str, Any]:
    causes, without = incident.root_cause.hypotheses, incident.impact.counterfactual
    return {
        "job": incident.job,
        "status": status,
        "severity": incident.severity,
        "fault": causes[0].fault if causes else UNKNOWN,
        "opened_at": incident.opened_at,
        "detected_at": incident.detected_at,
        "resolved_at": incident.resolved_at,
        "gpu_seconds_lost": incident.impact.gpu_seconds_lost,
        "counterfactual": None if without is None else json.dumps(without.document()),
        "machine_status": incident.status,
        "machine_updated_at": incident.updated_at,
        "document": text,
    }


def _keep_jobs(db: Connection, incident: Incident) -> None:
    db.execute(delete(incident_jobs).where(incident_jobs.c.incident == incident.id))
    if incident.jobs:
        rows = [{"incident": incident.id, "job": job} for job in dict.fromkeys(incident.jobs)]
        db.execute(insert(incident_jobs), rows)


def newest_change_at(db: Connection) -> float | None:
    """Return the newest time of the machine's changes, None where there is no incident."""
    newest: float | None = db.execute(select(func.max(incidents.c.machine_updated_at))).scalar_one()
    return newest


def find(db: Connection, incident: str) -> dict[str, Any] | None:
    """Return an incident's document with what people did, None when there is none."""
    row = db.execute(select(incidents.c.document).where(incidents.c.id == incident)).one_or_none()
    if row is None:
        return None
    return documents.shown(json.loads(row.document), action_rows.of(db, incident))


def page(
    db: Connection,
    wanted: IncidentFilter,
    *,
    limit: int,
    cursor: str | None = None,
    permits: Callable[[Sequence[str]], bool] = lambda _jobs: True,
) -> IncidentPage:
    """Return documents, the newest onset first, leaving out those whose jobs are not permitted.

    Raises ValueError for a cursor that is not ours.
    """
    place = None if cursor is None else _place(cursor)
    rows: list[tuple[Row[Any, Any, Any], dict[str, Any]]] = []
    while len(rows) <= limit:
        found = db.execute(_query(wanted, place).limit(limit + 1)).all()
        read = [(row, json.loads(row.document)) for row in found]
        rows += [(row, document) for row, document in read if permits(document["jobs"])]
        if len(found) <= limit:
            break
        place = (found[-1].opened_at, found[-1].id)
    more, rows = len(rows) > limit, rows[:limit]
    done = action_rows.of_each(db, [row.id for row, _ in rows])
    items = [documents.shown(document, done.get(row.id, [])) for row, document in rows]
    return IncidentPage(items, _cursor(rows[-1][0].opened_at, rows[-1][0].id) if more else None)


def _query(wanted: IncidentFilter, place: tuple[float, str] | None) -> Select[Any, Any, Any]:
    same = conditions.equal(
        {
            incidents.c.status: wanted.status,
            incidents.c.severity: wanted.severity,
            incidents.c.fault: wanted.fault,
        }
    )
    query = select(incidents.c.id, incidents.c.opened_at, incidents.c.document).where(*same)
    if wanted.since is not None:
        query = query.where(incidents.c.updated_at >= wanted.since)
    if wanted.job is not None:
        mine = and_(incident_jobs.c.incident == incidents.c.id, incident_jobs.c.job == wanted.job)
        query = query.where(exists().where(mine))
    if place is not None:
        at, last = place
        query = query.where(
            or_(
                incidents.c.opened_at < at,
                and_(incidents.c.opened_at == at, incidents.c.id < last),
            )
        )
    return query.order_by(incidents.c.opened_at.desc(), incidents.c.id.desc())


def _cursor(opened_at: float, incident: str) -> str:
    # repr is exact for floats, so the page continues at the very same place.
    return base64.urlsafe_b64encode(f"{opened_at!r} {incident}".encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[float, str]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        at, _, incident = text.partition(" ")
        return float(at), incident
    except ValueError as error:
        raise ValueError("not a cursor of this API") from error
