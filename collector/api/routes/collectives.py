"""/jobs/{job}/collectives: how far each rank is in each group, how long its collectives take."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.times import rfc3339
from ...figures.collectives import Member, Operations, members
from ...pipeline import Pipeline
from ...services import Services
from .. import shapes_figures as shapes
from ..auth import Guard, Principal
from ..pages import Page, cut
from ..problems import ProblemError

_MOST = 1000


class CollectivesQuery(Page):
    """Which members: of ranks, of a group by any of its names; at most 1,000 an answer."""

    rank: list[Annotated[int, Query(ge=0)]] | None = None
    group: str | None = None


def router(services: Services, guard: Guard) -> APIRouter:
    """Return the routes."""
    routes = APIRouter(tags=["jobs"])
    reader = Annotated[Principal, Depends(guard.require("read"))]

    @routes.get("/jobs/{job:encoded}/collectives", summary="List the collectives of a job's ranks")
    def collectives(
        job: str, principal: reader, query: Annotated[CollectivesQuery, Query()]
    ) -> shapes.Collectives:
        principal.check_job(job)

        def of_pipeline(line: Pipeline) -> list[Member]:
            attempt = line.windows.attempt(job)
            if attempt is None:
                raise ProblemError(404, f"no telemetry of job {job!r} is held")
            wanted = None if query.rank is None else frozenset(query.rank)
            return members(attempt, line.windows.host_names, ranks=wanted, group=query.group)

        found = services.stages.read(of_pipeline)
        rows, after = cut(found, limit=query.limit or _MOST, cursor=query.cursor)
        return shapes.Collectives(items=[_member(row) for row in rows], next_cursor=after)

    return routes


def _member(one: Member) -> shapes.CollectiveMember:
    return shapes.CollectiveMember(
        group=one.group,
        kind=one.kind,
        description=one.description,
        size=one.size,
        also=list(one.also),
        rank=one.rank,
        host=one.host,
        source=one.source,
        enqueued=one.enqueued,
        started=one.started,
        completed=one.completed,
        at=None if one.at is None else rfc3339(one.at),
        changed_at=None if one.changed_at is None else rfc3339(one.changed_at),
        operations=[_operations(each) for each in one.operations],
    )


def _operations(one: Operations) -> shapes.CollectiveOperations:
    return shapes.CollectiveOperations(
        op=one.op,
        source=one.source,
        at=rfc3339(one.at),
        count=one.count,
        duration=one.duration,
        duration_max=one.duration_max,
        size=one.size,
        bus_bandwidth=one.bus_bandwidth,
        lateness=one.lateness,
    )
