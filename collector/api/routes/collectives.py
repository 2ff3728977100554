"""/jobs/{job}/collectives and /operations: how far each rank is, how long its collectives take."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.answers.clock_offsets import ClockOffsetDocument
from ....vocabulary.answers.collectives import (
    CollectiveMember,
    CollectiveOperation,
    CollectiveOperations,
    CollectivesDocument,
    OperationMember,
    SingleCollectives,
)
from ....vocabulary.times import rfc3339
from ...figures.collectives import GroupMemberFigures, OperationFigures, members
from ...pipeline.pipeline import DetectionPipeline
from ...windows.operations import Number, late, synchronises
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

_MOST, _MOST_SINGLE = 1000, 20


class CollectivesQuery(PageQuery):
    """Which members: of ranks, of a group by any of its names; at most 1,000 an answer."""

    rank: list[Annotated[int, Query(ge=0)]] | None = None
    group: str | None = None


class OperationsQuery(PageQuery):
    """Which operations: of one group; at most 20 an answer where no limit is given."""

    group: str | None = None


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    routes = ShapeRouter(tags=["jobs"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get("/jobs/{job:encoded}/collectives", summary="List the collectives of a job's ranks")
    def collectives(
        job: str, principal: reader, query: Annotated[CollectivesQuery, Query()]
    ) -> CollectivesDocument:
        principal.check_job(job)

        def of_pipeline(line: DetectionPipeline) -> list[GroupMemberFigures]:
            attempt = line.windows.attempt(job)
            if attempt is None:
                raise ProblemError(404, f"no telemetry of job {job!r} is held")
            wanted = None if query.rank is None else frozenset(query.rank)
            return members(attempt, line.windows.host_names, ranks=wanted, group=query.group)

        found = services.stages.read(of_pipeline)
        rows, after = cut(found, limit=query.limit or _MOST, cursor=query.cursor)
        return CollectivesDocument(items=[_member(row) for row in rows], next_cursor=after)

    @routes.get("/jobs/{job:encoded}/operations", summary="List single collectives of a job")
    def single(
        job: str, principal: reader, query: Annotated[OperationsQuery, Query()]
    ) -> SingleCollectives:
        principal.check_job(job)

        def of_pipeline(
            line: DetectionPipeline,
        ) -> tuple[list[tuple[str, str, int, Number]], list[ClockOffsetDocument]]:
            attempt = line.windows.attempt(job)
            if attempt is None:
                raise ProblemError(404, f"no telemetry of job {job!r} is held")
            held = attempt.operations
            return held.numbers(query.group), held.clock_offsets()

        numbers, offsets = services.stages.read(of_pipeline)
        rows, after = cut(numbers, limit=query.limit or _MOST_SINGLE, cursor=query.cursor)
        return SingleCollectives(
            items=[_single(*row) for row in rows],
            clock_offsets=offsets,
            next_cursor=after,
        )

    return routes


def _single(group: str, op: str, sequence: int, number: Number) -> CollectiveOperation:
    waited = late(number) if synchronises(op) else {}
    return CollectiveOperation(
        group=group,
        op=op,
        sequence=sequence,
        size=next((one.size for one in number.values() if one.size is not None), None),
        members=[
            OperationMember(
                rank=rank,
                host=one.host or None,
                source=one.source,
                enqueued_at=None if one.enqueued_at is None else rfc3339(one.enqueued_at),
                completed_at=None if one.completed_at is None else rfc3339(one.completed_at),
                seconds=one.seconds,
                lateness=waited.get(rank),
            )
            for rank, one in sorted(number.items())
        ],
    )


def _member(one: GroupMemberFigures) -> CollectiveMember:
    return CollectiveMember(
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
        pid=None if one.logged is None else one.logged.pid,
        pci_bus_id=None if one.logged is None else one.logged.bus_id,
        communicator_rank=None if one.logged is None else one.logged.communicator_rank,
        operations=[_operations(each) for each in one.operations],
    )


def _operations(one: OperationFigures) -> CollectiveOperations:
    return CollectiveOperations(
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
