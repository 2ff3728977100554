"""/jobs: what is watched, its ranks, and their series."""

import math
from fnmatch import fnmatchcase
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import JSONResponse

from ....vocabulary import metrics
from ....vocabulary.answers.jobs import (
    JobDocument,
    JobsDocument,
    RankDocument,
    RanksDocument,
    SeriesDocument,
)
from ....vocabulary.rounding import shown
from ....vocabulary.times import parse, rfc3339
from ...accounting.goodput import GoodputMeter
from ...accounting.ledger import CostLedger
from ...accounting.watched import JobSummaries
from ...windows import queries
from ...windows.queries import JobSummary
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..parameters import JobPattern, Moment, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

MOST_POINTS = 200_000
"""Points of one answer: more than any plot shows, and still under 10 MB."""
_RANGE_SECONDS = 600.0
ENDED_SECONDS = 60.0
"""A job of which nothing was received for so long runs no more; what lives reports every 5 s."""


class SeriesQuery(QueryParameters):
    """Which series: without ranks all of them, without times the last ten minutes."""

    metric: str
    rank: list[Annotated[int, Query(ge=0)]] | None = None
    from_: Annotated[Moment | None, Query(alias="from")] = None
    to: Moment | None = None


class JobsQuery(PageQuery):
    """Which jobs: by a pattern of their ids, and by cluster."""

    job: JobPattern | None = None
    cluster: str | None = None


class RanksQuery(PageQuery):
    """Which ranks: those on a host."""

    host: str | None = None


def router(
    services: CollectorParts,
    guard: TokenGuard,
    ledger: CostLedger,
    watched: JobSummaries,
    goodputs: GoodputMeter,
) -> APIRouter:
    routes = ShapeRouter(tags=["jobs"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    def found(principal: TokenPrincipal) -> dict[str, JobDocument]:
        active = ledger.active()
        seen = watched.jobs()
        now: dict[str, JobSummary] = {row.job: row for row in seen}
        shares = goodputs.of(seen)
        # Of the past nothing runs, however short ago it ended.
        at = math.inf if services.until is not None else services.clock.now()
        return {
            job: _job(job, now.get(job), shares.get(job), active.get(job, 0), at)
            for job in sorted(now.keys() | active.keys())
            if principal.permits([job])
        }

    def known(principal: TokenPrincipal, job: str) -> JobDocument:
        principal.check_job(job)
        one = found(principal).get(job)
        if one is None:
            raise ProblemError(404, f"no job {job!r} has reported")
        return one

    @routes.get("/jobs", summary="List jobs")
    def jobs(principal: reader, query: Annotated[JobsQuery, Query()]) -> JobsDocument:
        rows = [
            row
            for row in found(principal).values()
            if (query.job is None or fnmatchcase(row.job, query.job))
            and (query.cluster is None or row.cluster == query.cluster)
        ]
        items, after = cut(rows, limit=query.limit, cursor=query.cursor)
        return JobsDocument(items=items, next_cursor=after)

    @routes.get("/jobs/{job:encoded}", summary="Get a job")
    def job(job: str, principal: reader) -> JobDocument:
        return known(principal, job)

    @routes.get("/jobs/{job:encoded}/ranks", summary="List the ranks of a job")
    def ranks(job: str, principal: reader, query: Annotated[RanksQuery, Query()]) -> RanksDocument:
        known(principal, job)
        every = services.stages.read(lambda line: queries.ranks(line.windows, job))
        mine = [row for row in every if query.host is None or row.host == query.host]
        rows, after = cut(mine, limit=query.limit, cursor=query.cursor)
        return RanksDocument(
            items=[
                RankDocument(
                    rank=row.rank,
                    local_rank=row.local_rank,
                    host=row.host,
                    pid=row.pid,
                    hw_id=row.hw_id,
                    last_step=row.last_step,
                    progress_age=row.progress_age,
                    attempt=row.attempt,
                )
                for row in rows
            ],
            next_cursor=after,
        )

    @routes.get(
        "/jobs/{job:encoded}/series",
        summary="Get a metric of a job over time",
        response_model=SeriesDocument,
    )
    def series(job: str, principal: reader, query: Annotated[SeriesQuery, Query()]) -> JSONResponse:
        one = known(principal, job)
        name = query.metric.partition("|")[0]
        if name not in metrics.catalogue():
            raise ProblemError(400, f"metric: there is no metric {name!r}", parameter="metric")
        last = services.clock.now() if one.last_at is None else parse(one.last_at)
        end = query.to if query.to is not None else last
        start = query.from_ if query.from_ is not None else end - _RANGE_SECONDS
        if start > end:
            raise ProblemError(400, "from: it is later than to", parameter="from")
        found = services.stages.read(
            lambda line: queries.series(line.windows, job, query.metric, query.rank, start, end)
        )
        every = -(-sum(len(row.at) for row in found) // MOST_POINTS) or 1
        # Written by hand: models would check each of many points one by one.
        return JSONResponse(
            {
                "metric": query.metric,
                "unit": metrics.catalogue()[name].unit,
                "series": [
                    {
                        "rank": row.rank,
                        "attributes": dict(row.attributes),
                        "points": _points(row, every),
                    }
                    for row in found
                ],
                "every": every,
            }
        )

    return routes


def _points(row: queries.SeriesRow, every: int) -> list[list[Any]]:
    pairs = zip(row.at[::every].tolist(), row.value[::every].tolist(), strict=True)
    return [[rfc3339(at), shown(value)] for at, value in pairs]


def _job(
    name: str, row: JobSummary | None, goodput: float | None, active: int, now: float
) -> JobDocument:
    if row is None:
        return JobDocument(
            job=name,
            attempt=None,
            cluster=None,
            first_at=None,
            last_at=None,
            world_size=None,
            hosts=[],
            ranks=None,
            last_step=None,
            step_seconds=None,
            goodput=None,
            incidents=active,
        )
    return JobDocument(
        job=name,
        status="running" if now - row.last_received < ENDED_SECONDS else "ended",
        attempt=row.attempt,
        cluster=row.cluster,
        # A job whose first event came before its first sample has no time yet.
        first_at=rfc3339(row.first_at) if math.isfinite(row.first_at) else None,
        last_at=rfc3339(row.last_at) if math.isfinite(row.last_at) else None,
        world_size=row.world_size,
        hosts=list(row.hosts),
        ranks=row.ranks,
        last_step=row.last_step,
        step_seconds=row.step_seconds,
        goodput=goodput,
        incidents=active,
        user=row.user,
    )
