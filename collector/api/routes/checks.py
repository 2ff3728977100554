"""/checks: what hosts measured of themselves, and what their like measure."""

from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from starlette.responses import Response

from ....vocabulary import checks
from ....vocabulary.answers.checks import (
    CheckDistribution,
    CheckResultDocument,
    CheckResultsDocument,
    KeptChecks,
)
from ....vocabulary.checks import CheckVerdict
from ...store.check_rows import CheckFilter, CheckRecord, NumberedCheck
from ..auth import TokenGuard, TokenPrincipal
from ..pages import numbered
from ..parameters import Limit, Moment, Number, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

MOST_RESULTS = 2000
"""Of one request: 14 checks of 64 devices, and more."""


def _check(text: str) -> str:
    if text not in checks.catalogue():
        raise ValueError(f"there is no check {text!r}")
    return text


def _enumerated() -> dict[str, Any]:
    return {"enum": list(checks.catalogue())}


CheckName = Annotated[str, AfterValidator(_check), WithJsonSchema(_enumerated())]
Name = Annotated[str, Field(min_length=1, max_length=255)]
RequestId = Annotated[str, Path(max_length=64)]
Place = Annotated[str, Field(max_length=128)]
Value = Annotated[float, Field(allow_inf_nan=False)]


class SentResult(BaseModel):
    """One result as `rankscope check` judged it."""

    model_config = ConfigDict(extra="forbid")

    check: CheckName
    device: Name
    kind: Annotated[str, Field(max_length=255)] = ""
    value: Value | None = None
    unit: Annotated[str, Field(max_length=32)]
    expected: Value | None = None
    interval: Annotated[list[Value], Field(min_length=2, max_length=2)] | None = None
    compared_with: Annotated[str | None, Field(max_length=400)] = None
    verdict: CheckVerdict
    reason: Annotated[str, Field(max_length=1000)] = ""


class SentChecks(BaseModel):
    """The results of one host; `incident`: for which they were run."""

    model_config = ConfigDict(extra="forbid")

    host: Name
    place: Place = ""
    incident: Annotated[str | None, Field(max_length=64)] = None
    results: Annotated[list[SentResult], Field(max_length=MOST_RESULTS)]


class CheckFailure(BaseModel):
    """Why an agent runs no check."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=1000)]


class ChecksQuery(QueryParameters):
    """Which results; `since` is of when they were received."""

    host: Annotated[str | None, Query(max_length=255)] = None
    check: CheckName | None = None
    verdict: CheckVerdict | None = None
    incident: Annotated[str | None, Query(max_length=64)] = None
    since: Moment | None = None
    limit: Limit = 50
    cursor: Number | None = None


class CheckDistributionQuery(QueryParameters):
    """Of which check and kind, in which place; `host` is left out: it asks."""

    check: CheckName
    kind: Annotated[str, Query(max_length=255)] = ""
    place: Annotated[str, Query(max_length=128)] = ""
    host: Annotated[str, Query(max_length=255)] = ""


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes. Hosts use theirs with the token that their agents push with."""
    routes = ShapeRouter(tags=["checks"])
    sender = Annotated[TokenPrincipal, Depends(guard.require("ingest"))]
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    store = services.store

    @routes.post("/checks", summary="Keep results of active checks", status_code=201)
    def keep(principal: sender, body: SentChecks) -> KeptChecks:
        principal.check_unlimited()
        now = services.store_clock.now()
        store.keep_checks([_record(body, row, now) for row in body.results])
        return KeptChecks(kept=len(body.results))

    @routes.post(
        "/checks/requests/{request}/failure",
        summary="Say why a check that was asked for is not run",
        status_code=204,
    )
    def failure(request: RequestId, principal: sender, body: CheckFailure) -> Response:
        principal.check_unlimited()
        if not store.fail_check(request, body.text):
            raise ProblemError(404, f"there is no request {request!r}")
        return Response(status_code=204)

    @routes.get("/checks", summary="List results of active checks")
    def listed(principal: reader, query: Annotated[ChecksQuery, Query()]) -> CheckResultsDocument:
        principal.check_unlimited()
        wanted = CheckFilter(
            host=query.host,
            check_name=query.check,
            verdict=query.verdict,
            incident=query.incident,
            since=query.since,
        )
        before = None if query.cursor is None else int(query.cursor)
        rows = store.checks(wanted, limit=query.limit + 1, before=before)
        page, after = numbered(rows, lambda row: row.number, limit=query.limit)
        return CheckResultsDocument(items=[shown(row) for row in page], next_cursor=after)

    @routes.get("/checks/distribution", summary="Get what hosts of a kind measure")
    def distribution(
        principal: sender, query: Annotated[CheckDistributionQuery, Query()]
    ) -> CheckDistribution:
        principal.check_unlimited()
        values = store.check_values(
            query.check,
            kind=query.kind,
            place=query.place,
            but=query.host,
            now=services.store_clock.now(),
        )
        return CheckDistribution(
            check=query.check, kind=query.kind, place=query.place, values=values
        )

    return routes


def _record(body: SentChecks, row: SentResult, now: float) -> CheckRecord:
    return CheckRecord(
        at=now,
        host=body.host,
        device=row.device,
        check_name=row.check,
        kind=row.kind,
        place=body.place,
        value=row.value,
        unit=row.unit,
        verdict=row.verdict,
        reason=row.reason,
        expected=row.expected,
        low=row.interval[0] if row.interval else None,
        high=row.interval[1] if row.interval else None,
        compared_with=row.compared_with,
        incident=body.incident,
    )


def shown(row: NumberedCheck) -> CheckResultDocument:
    """Return a result as it is answered."""
    interval = None if row.low is None or row.high is None else [row.low, row.high]
    return CheckResultDocument(
        at=row.at,
        host=row.host,
        place=row.place,
        check=row.check_name,
        device=row.device,
        kind=row.kind,
        value=row.value,
        unit=row.unit,
        expected=row.expected,
        interval=interval,
        compared_with=row.compared_with,
        verdict=cast("CheckVerdict", row.verdict),  # checked as it was taken in
        reason=row.reason,
        incident=row.incident,
    )
