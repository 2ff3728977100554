"""/root-cause: the ranked causes of any time range of the past that is still held, on demand."""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse

from ....alerts.causes import catalogue, ranking
from ....vocabulary.incidents import RootCause
from ...services import Services
from ...windows import queries
from .. import shapes_incident
from ..auth import Guard, Principal
from ..parameters import Moment, Parameters
from ..problems import ProblemError


class RangeQuery(Parameters):
    """Which job, and from when to when."""

    job: str
    from_: Annotated[Moment, Query(alias="from")]
    to: Moment


def router(services: Services, guard: Guard) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["incidents"])
    reader = Annotated[Principal, Depends(guard.require("read"))]

    @routes.get(
        "/root-cause",
        summary="Explain a time range of the past",
        response_model=shapes_incident.RootCause,
    )
    def root_cause(principal: reader, query: Annotated[RangeQuery, Query()]) -> JSONResponse:
        principal.check_job(query.job)
        if query.from_ > query.to:
            raise ProblemError(400, "from: it is later than to", parameter="from")
        known = services.stages.read(lambda line: queries.names(line.windows))
        if query.job not in known:
            raise ProblemError(404, f"no telemetry of job {query.job!r} is held")
        found = services.stages.read(lambda line: line.explain(query.job, query.from_, query.to))
        return JSONResponse(_nothing() if found is None else found)

    return routes


def _nothing() -> dict[str, Any]:
    """Return the answer where nothing went wrong: no hypothesis, and the reason."""
    return RootCause(
        status="provisional",
        engine=ranking.ENGINE,
        catalogue=catalogue.catalogue().version,
        hypotheses=(),
        unknown_score=0.0,
        unknown_reasons=("nothing was found wrong in this time range",),
        next_checks=(),
        missing=(),
        clock_skew_seconds=math.nan,  # not looked at: null in the document
        coverage=math.nan,
    ).document()
