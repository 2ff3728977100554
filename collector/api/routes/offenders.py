"""/offenders: what keeps appearing as first cause, across jobs, with the record behind it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.answers.history import NamedDocument, OffenderDocument, OffendersDocument
from ....vocabulary.times import rfc3339
from ...accounting.ledger import CostLedger
from ...accounting.offenders import OffenderRecord, OffenderType, offenders
from ...store.costs import IncidentCosts
from ..auth import TokenGuard, TokenPrincipal
from ..pages import cut
from ..parameters import Limit, Moment, Number, QueryParameters
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

MOST_RECORD = 50
"""Incidents listed of one entity, the newest first."""


class OffendersQuery(QueryParameters):
    """Which: `at_least` so many incidents; `since`: with an onset at or after it."""

    type: OffenderType | None = None
    since: Moment | None = None
    at_least: Annotated[int, Query(ge=1, le=1000)] = 2
    limit: Limit = 50
    cursor: Number | None = None


def router(services: CollectorParts, guard: TokenGuard, ledger: CostLedger) -> APIRouter:
    routes = ShapeRouter(tags=["history"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get("/offenders", summary="List repeat offenders")
    def list_offenders(
        principal: reader, query: Annotated[OffendersQuery, Query()]
    ) -> OffendersDocument:
        found = offenders(
            ledger.permitted(principal, services.clock.now()),
            since=query.since,
            types=() if query.type is None else (query.type,),
            at_least=query.at_least,
        )
        items, after = cut(found, limit=query.limit, cursor=query.cursor)
        return OffendersDocument(items=[_shape(row) for row in items], next_cursor=after)

    return routes


def _shape(row: OffenderRecord) -> OffenderDocument:
    return OffenderDocument(
        type=row.type,
        id=row.id,
        host=row.host,
        incidents=len(row.record),
        jobs=row.jobs,
        faults=row.faults,
        gpu_hours_lost=row.gpu_seconds_lost / 3600,
        first_at=rfc3339(row.record[-1].opened_at),
        last_at=rfc3339(row.record[0].opened_at),
        confirmed=sum(one.verdict == "correct" for one in row.record),
        record=[_entry(one) for one in row.record[:MOST_RECORD]],
    )


def _entry(row: IncidentCosts) -> NamedDocument:
    return NamedDocument(
        incident=row.id,
        jobs=list(row.jobs),
        fault=row.fault,
        entity_type=row.root.type if row.root else "",
        entity=row.root.id if row.root else "",
        severity=row.severity,
        status=row.status,
        opened_at=rfc3339(row.opened_at),
        gpu_hours_lost=row.gpu_seconds_lost / 3600,
        verdict=row.verdict,
    )
