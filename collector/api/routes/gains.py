"""/gains: what repairing or removing hosts would bring; /jobs/{job}/slowest: of one job."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from ....vocabulary.answers.gains import HostGain, HostGainsDocument, SlowestDocument
from ....vocabulary.times import WEEK_SECONDS, rfc3339
from ...accounting import gains
from ...accounting.gains import HostGains, RunningGains
from ...accounting.ledger import CostLedger
from ...accounting.watched import JobSummaries
from ...figures.slowest import slowest
from ...pipeline.pipeline import DetectionPipeline
from ...windows.matrices import newest_window
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..parameters import Moment, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

MOST_INCIDENTS = 50
"""Incidents listed of one host, the newest first."""


class SlowestQuery(QueryParameters):
    """Which places: ranks one by one, or hosts with all of their ranks."""

    by: Literal["rank", "host"] = "host"


class GainsQuery(PageQuery):
    """From when to when incidents count; without times the last seven days."""

    since: Moment | None = None
    until: Moment | None = None
    host: str | None = None


def router(
    services: CollectorParts,
    guard: TokenGuard,
    ledger: CostLedger,
    watched: JobSummaries,
    running: RunningGains,
) -> APIRouter:
    routes = ShapeRouter(tags=["stats"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get("/gains", summary="List hosts by what their repair would bring")
    def list_gains(principal: reader, query: Annotated[GainsQuery, Query()]) -> HostGainsDocument:
        now = services.clock.now()
        until = now if query.until is None else query.until
        since = until - WEEK_SECONDS if query.since is None else query.since
        if since > until:
            raise ProblemError(400, "since: it is later than until", parameter="since")
        jobs = running.of(watched.jobs(), now)
        mine = {job: jobs[job] for job in jobs if principal.permits([job])}
        found = gains.by_host(ledger.permitted(principal, now), mine, since=since, until=until)
        rows = [row for row in found if query.host is None or row.host == query.host]
        items, after = cut(rows, limit=query.limit, cursor=query.cursor)
        return HostGainsDocument(
            since=rfc3339(since),
            until=rfc3339(until),
            items=[_gain(row) for row in items],
            next_cursor=after,
        )

    @routes.get(
        "/jobs/{job:encoded}/slowest", summary="Get a job without its slowest ranks or hosts"
    )
    def slowest_of(
        job: str, principal: reader, query: Annotated[SlowestQuery, Query()]
    ) -> SlowestDocument:
        principal.check_job(job)

        def asked(line: DetectionPipeline) -> SlowestDocument:
            window = newest_window(line.windows, job)
            if window is None:
                raise ProblemError(404, f"no telemetry of job {job!r} is held")
            return slowest(window, query.by)

        found: SlowestDocument = services.stages.read(asked)
        return found

    return routes


def _gain(row: HostGains) -> HostGain:
    return HostGain(
        host=row.host,
        incidents=row.incidents[-MOST_INCIDENTS:][::-1],
        past=row.past,
        bases=sorted(row.bases),
        now=row.now,
        an_hour=row.an_hour,
    )
