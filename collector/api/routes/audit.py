"""/audit: what people did, when, and with which token."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.answers.history import AuditDocument, AuditEntry
from ....vocabulary.times import rfc3339
from ...store.audit import AuditFilter, AuditRow
from ..auth import TokenGuard, TokenPrincipal
from ..pages import numbered
from ..parameters import Limit, Moment, Number, QueryParameters
from ..services import CollectorParts
from ..shape_routes import ShapeRouter


class AuditQuery(QueryParameters):
    """Which actions: `subject` is the id of an incident, a silence, a webhook."""

    action: Annotated[str | None, Query(max_length=64, examples=["acknowledge"])] = None
    token: Annotated[str | None, Query(max_length=200)] = None
    by: Annotated[str | None, Query(max_length=200)] = None
    subject: Annotated[str | None, Query(max_length=200)] = None
    since: Moment | None = None
    until: Moment | None = None
    limit: Limit = 50
    cursor: Number | None = None


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the route: only for admins that are not limited to some jobs."""
    routes = ShapeRouter(tags=["history"])
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]

    @routes.get("/audit", summary="List what people did")
    def audit(principal: admin, query: Annotated[AuditQuery, Query()]) -> AuditDocument:
        principal.check_unlimited()
        wanted = AuditFilter(
            action=query.action,
            token=query.token,
            author=query.by,
            subject=query.subject,
            since=query.since,
            until=query.until,
        )
        before = None if query.cursor is None else int(query.cursor)
        rows = services.store.audited(wanted, limit=query.limit + 1, before=before)
        items, after = numbered(rows, lambda row: row.number, limit=query.limit)
        return AuditDocument(items=[_shape(row) for row in items], next_cursor=after)

    return routes


def _shape(row: AuditRow) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=rfc3339(row.at),
        token=row.token,
        by=row.author,
        action=row.action,
        subject=row.subject,
        details=dict(row.details),
    )
