"""/incidents: pages of them, one, its causes and its timeline."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse, Response

from ....vocabulary.answers.causes import IncidentsDocument, TimelineDocument
from ....vocabulary.faults import Severity
from ....vocabulary.incidents import Incident, RootCause, Status
from ...store.incidents import IncidentFilter
from ...store.store import IncidentDatabaseStore
from ..answers import ResponseCache
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..parameters import Cursor, FaultId, Limit, Moment, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

Find = Callable[[str, TokenPrincipal], dict[str, Any]]


class IncidentsQuery(QueryParameters):
    """Which incidents; `since`: those of which anything changed at or after it."""

    status: Status | None = None
    job: str | None = None
    severity: Severity | None = None
    fault: FaultId | None = None
    since: Moment | None = None
    limit: Limit = 50
    cursor: Cursor | None = None


def finding(store: IncidentDatabaseStore) -> Find:
    """Return how to get an incident that a principal may see: 404 for what it may not."""

    def find(identity: str, principal: TokenPrincipal) -> dict[str, Any]:
        document = store.incident(identity)
        if document is None or not principal.permits(document["jobs"]):
            raise ProblemError(404, f"there is no incident {identity!r}")
        return document

    return find


def router(services: CollectorParts, guard: TokenGuard, answers: ResponseCache) -> APIRouter:
    """Return the routes. Documents are answered as they are kept, unchecked: old ones too."""
    routes = ShapeRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    find = finding(services.store)

    @routes.get("/incidents", summary="List incidents", response_model=IncidentsDocument)
    def incidents(principal: reader, query: Annotated[IncidentsQuery, Query()]) -> Response:
        wanted = IncidentFilter(query.status, query.job, query.severity, query.fault, query.since)

        def page() -> dict[str, Any]:
            try:
                found = services.store.incidents(
                    wanted, limit=query.limit, cursor=query.cursor, permits=principal.permits
                )
            except ValueError as error:
                raise ProblemError(400, f"cursor: {error}", parameter="cursor") from error
            return {"items": found.items, "next_cursor": found.next_cursor}

        return answers.get((wanted, query.limit, query.cursor, principal.jobs), page)

    @routes.get(
        "/incidents/{incident:encoded}",
        summary="Get an incident",
        response_model=Incident,
    )
    def incident(incident: str, principal: reader) -> Response:
        return answers.get((incident, principal.jobs), lambda: find(incident, principal))

    @routes.get(
        "/incidents/{incident:encoded}/root-cause",
        summary="Get the ranked causes of an incident",
        response_model=RootCause,
    )
    def root_cause(incident: str, principal: reader) -> JSONResponse:
        return JSONResponse(find(incident, principal)["root_cause"])

    @routes.get(
        "/incidents/{incident:encoded}/timeline",
        summary="Get what happened in an incident",
        response_model=TimelineDocument,
    )
    def timeline(
        incident: str, principal: reader, query: Annotated[PageQuery, Query()]
    ) -> JSONResponse:
        moments = find(incident, principal)["timeline"]
        items, after = cut(moments, limit=query.limit, cursor=query.cursor)
        return JSONResponse({"items": items, "next_cursor": after})

    return routes
