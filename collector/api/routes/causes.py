"""/root-cause: the ranked causes of any time range of the past that is still held, on demand.

The last minutes are answered from the windows at once, anything else that the journal holds by
reading it again.
"""

import math
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse

from ....alerts.causes import catalogue, ranking
from ....vocabulary.answers.causes import RangeRootCause
from ....vocabulary.incidents import DataQuality, RootCause, UnknownScore
from ....vocabulary.times import rfc3339
from ...history.asking import JournalHistory, PastError
from ...windows import queries
from ..auth import TokenGuard, TokenPrincipal
from ..parameters import Moment, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

RECENT_SECONDS = 600.0
"""What windows hold in full for certain, and a question about it wants an answer at once."""


class CausesQuery(QueryParameters):
    """Which job, and from when to when."""

    job: Annotated[str, Query(min_length=1, max_length=500, examples=["llama-70b"])]
    from_: Annotated[Moment, Query(alias="from")]
    to: Moment


def router(services: CollectorParts, guard: TokenGuard, past: JournalHistory) -> APIRouter:
    routes = ShapeRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get(
        "/root-cause",
        summary="Explain a time range of the past",
        response_model=RangeRootCause,
    )
    def root_cause(principal: reader, query: Annotated[CausesQuery, Query()]) -> JSONResponse:
        principal.check_job(query.job)
        now = services.clock.now()
        if query.from_ > query.to:
            raise ProblemError(400, "from: it is later than to", parameter="from")
        if query.from_ > now:
            raise ProblemError(400, "from: it is in the future", parameter="from")
        try:
            held, end = past.held_from(query.job), min(query.to, now)
        except PastError as error:
            raise _unread(error) from error
        start = query.from_ if held is None else max(query.from_, held)
        if held is None or (start >= now - RECENT_SECONDS and end >= held):
            known = services.stages.read(lambda line: queries.names(line.windows))
            if held is None and query.job not in known:
                raise ProblemError(404, f"no telemetry of job {query.job!r} is held")
            found = services.stages.read(lambda line: line.explain(query.job, start, end))
            if found is not None or held is None:
                return JSONResponse(_answer(found, "windows", start, end))
        if end < held:
            raise ProblemError(
                404,
                f"this time range is held no more: the journal begins at {rfc3339(held)}",
                held_from=rfc3339(held),
            )
        hours = services.settings.past.hours
        if end - start > hours * 3600:
            raise ProblemError(
                400,
                f"from: the range is longer than {hours:g} h (past.hours); ask for less at a time",
                parameter="from",
            )
        return JSONResponse(_reread(past, query.job, start, end))

    return routes


def _reread(past: JournalHistory, job: str, start: float, end: float) -> dict[str, Any]:
    try:
        found = past.root_cause(job, start, end)
    except PastError as error:
        raise _unread(error) from error
    if not found["known"]:
        raise ProblemError(404, f"no telemetry of job {job!r} is held of this time range")
    return {
        **_answer(found["root_cause"], "journal", start, end),
        "incident": found["incident"],
        "others": found["others"],
    }


def _unread(error: PastError) -> ProblemError:
    headers = {"retry-after": "5"} if error.busy else None
    return ProblemError(503, str(error), headers=headers)


def _answer(found: dict[str, Any] | None, source: str, start: float, end: float) -> dict[str, Any]:
    return {
        **(_nothing() if found is None else found),
        "source": source,
        "range": {"from": rfc3339(start), "to": rfc3339(end)},
        "incident": None,
        "others": [],
    }


def _nothing() -> dict[str, Any]:
    """Return the answer where nothing went wrong: no hypothesis, and the reason."""
    return RootCause(
        status="provisional",
        engine=ranking.ENGINE,
        catalogue=catalogue.catalogue().version,
        hypotheses=(),
        unknown=UnknownScore(0.0, ("nothing was found wrong in this time range",)),
        next_checks=(),
        # Neither was looked at: null in the document.
        data_quality=DataQuality((), clock_skew_seconds=math.nan, coverage=math.nan),
    ).document()
