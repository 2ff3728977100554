"""/observations: what was seen of jobs and hosts and is no incident."""

from fnmatch import fnmatchcase
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.observations import JobObservation, ObservationsDocument
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..parameters import JobPattern, Moment
from ..services import CollectorParts
from ..shape_routes import ShapeRouter


class ObservationsQuery(PageQuery):
    """Which observations: by a pattern of job ids, and by host; `since`: those that lasted then."""

    job: JobPattern | None = None
    host: str | None = None
    since: Moment | None = None


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get("/observations", summary="List observations")
    def observations(
        principal: reader, query: Annotated[ObservationsQuery, Query()]
    ) -> ObservationsDocument:
        every = services.stages.read(lambda line: line.tracker.observations())
        mine = [row for row in every if principal.permits([row.job]) and _wanted(row, query)]
        rows, after = cut(mine, limit=query.limit, cursor=query.cursor)
        return ObservationsDocument(items=rows, next_cursor=after)

    return routes


def _wanted(row: JobObservation, query: ObservationsQuery) -> bool:
    return (
        (query.job is None or fnmatchcase(row.job, query.job))
        and (query.host is None or row.entity.host == query.host)
        and (query.since is None or row.until is None or row.until >= query.since)
    )
