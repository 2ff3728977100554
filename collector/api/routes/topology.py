"""/topology: what a job runs on."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse

from ...services import Services
from .. import shapes
from ..auth import Guard, Principal
from ..parameters import Parameters
from ..problems import ProblemError


class TopologyQuery(Parameters):
    """Which job."""

    job: str


def router(services: Services, guard: Guard) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["jobs"])
    reader = Annotated[Principal, Depends(guard.require("read"))]

    @routes.get("/topology", summary="Get what a job runs on", response_model=shapes.Topology)
    def topology(principal: reader, query: Annotated[TopologyQuery, Query()]) -> JSONResponse:
        principal.check_job(query.job)
        known = services.stages.read(lambda line: {row.job for row in line.windows.jobs()})
        if query.job not in known:
            raise ProblemError(404, f"no telemetry of job {query.job!r} is held")
        return JSONResponse(services.stages.read(lambda line: line.windows.topology(query.job)))

    return routes
