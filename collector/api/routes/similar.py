"""/incidents/{id}/similar: past incidents like one, with what people said of them."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from ....vocabulary.answers.history import SimilarIncident, SimilarIncidents
from ...accounting.ledger import CostLedger
from ..auth import TokenGuard, TokenPrincipal
from ..pages import cut
from ..parameters import Number, QueryParameters
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from ..similar import IncidentLikeness, similar
from .incidents import finding


class SimilarQuery(QueryParameters):
    """A page of them."""

    limit: Annotated[int, Query(ge=1, le=100)] = 5
    cursor: Number | None = None


def router(services: CollectorParts, guard: TokenGuard, ledger: CostLedger) -> APIRouter:
    routes = ShapeRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    find = finding(services.store)

    @routes.get("/incidents/{incident:encoded}/similar", summary="List similar past incidents")
    def similar_incidents(
        incident: str, principal: reader, query: Annotated[SimilarQuery, Query()]
    ) -> SimilarIncidents:
        document = find(incident, principal)
        rows = ledger.permitted(principal, services.clock.now())
        found = similar(document, rows, services.store.incident)
        items, after = cut(found, limit=query.limit, cursor=query.cursor)
        return SimilarIncidents(items=[_shape(one) for one in items], next_cursor=after)

    return routes


def _shape(one: IncidentLikeness) -> SimilarIncident:
    document: dict[str, Any] = dict(one.document)
    causes = document["root_cause"]["hypotheses"]
    handling = document["handling"]
    return SimilarIncident(
        id=document["id"],
        likeness=round(one.points, 2),
        reasons=list(one.reasons),
        jobs=document["jobs"],
        fault=causes[0]["fault"] if causes else None,
        entity=causes[0]["entity"] if causes else None,
        status=document["status"],
        severity=document["severity"],
        opened_at=document["opened_at"],
        resolved_at=document["resolved_at"],
        summary=document["summary"],
        gpu_hours_lost=(document["impact"]["gpu_seconds_lost"] or 0.0) / 3600,
        feedback=handling["feedback"],
        resolved=handling["resolved"],
    )
