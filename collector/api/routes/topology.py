"""/topology: the placement of a job."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse

from ....vocabulary.answers.jobs import TopologyDocument
from ...windows import queries
from ..auth import TokenGuard, TokenPrincipal
from ..parameters import QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from ..topology_graph import drawn


class TopologyQuery(QueryParameters):
    """Which job, and down to what: at a hundred thousand ranks `hosts` is 4 MB, `ranks` 72 MB."""

    job: str
    detail: Literal["ranks", "hosts"] = "ranks"


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["jobs"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get("/topology", summary="Get the topology of a job", response_model=TopologyDocument)
    def topology(principal: reader, query: Annotated[TopologyQuery, Query()]) -> JSONResponse:
        principal.check_job(query.job)
        found = services.stages.read(lambda line: queries.topology(line.windows, query.job))
        if found is None:
            raise ProblemError(404, f"no telemetry of job {query.job!r} is held")
        return JSONResponse(drawn(found, ranks=query.detail == "ranks"))

    return routes
