"""/hosts: the nodes that report, their devices, and what runs there."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary import metrics
from ....vocabulary.answers.hosts import (
    NodeDetail,
    NodeDevice,
    NodeLine,
    NodeReading,
    NodeRow,
    NodeRows,
    NodeSeries,
)
from ....vocabulary.rounding import shown
from ....vocabulary.times import rfc3339
from ...windows import joined_nodes, nodes
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from .figures import RANGE_SECONDS, MetricQuery


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes.

    A token that is limited to jobs sees the hosts on which these run: what those report of
    themselves, and of the jobs there only its own.
    """
    routes = ShapeRouter(tags=["hosts"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    def permitted(principal: TokenPrincipal, row: nodes.NodeSummary) -> list[str]:
        return [job for job in row.ranks if principal.permits([job])]

    def of(principal: TokenPrincipal) -> nodes.Permits:
        return lambda job: principal.permits([job])

    def visible(principal: TokenPrincipal, row: nodes.NodeSummary) -> bool:
        return not principal.jobs or bool(permitted(principal, row))

    def found(principal: TokenPrincipal, host: str) -> nodes.HostDetail:
        every = services.stages.read(
            lambda line: _listed(nodes.node(line.windows, host, of(principal)))
        )
        one = joined_nodes.node(every)
        if one is None or not visible(principal, one.summary):
            raise ProblemError(404, f"no host {host!r} has reported")
        return one

    @routes.get("/hosts", summary="List hosts")
    def list_hosts(principal: reader, query: Annotated[PageQuery, Query()]) -> NodeRows:
        found = services.stages.read(lambda line: nodes.nodes(line.windows))
        every = joined_nodes.summaries(found)
        mine = [row for row in every if visible(principal, row)]
        rows, after = cut(mine, limit=query.limit, cursor=query.cursor)
        return NodeRows(
            items=[
                NodeRow(
                    host=row.host,
                    last_received=rfc3339(row.last_received),
                    switch=row.switch,
                    ranks={job: len(row.ranks[job]) for job in permitted(principal, row)},
                )
                for row in rows
            ],
            next_cursor=after,
        )

    @routes.get("/hosts/{host:encoded}", summary="Get a host and its devices")
    def host(host: str, principal: reader) -> NodeDetail:
        node = found(principal, host)
        jobs = permitted(principal, node.summary)
        users = _users(services, host, jobs)
        return NodeDetail(
            host=host,
            last_received=rfc3339(node.summary.last_received),
            switch=node.summary.switch,
            ranks={job: list(node.summary.ranks[job]) for job in jobs},
            readings=[_reading(row) for row in node.readings],
            devices=[
                NodeDevice(
                    hw_id=hw_id,
                    index=one.index,
                    model=one.model,
                    job=users.get(hw_id, (None, None))[0],
                    rank=users.get(hw_id, (None, None))[1],
                    readings=[_reading(row) for row in one.readings],
                )
                for hw_id, one in node.devices.items()
            ],
        )

    @routes.get("/hosts/{host:encoded}/series", summary="Get a metric of a host over time")
    def series(host: str, principal: reader, query: Annotated[MetricQuery, Query()]) -> NodeSeries:
        if query.metric not in metrics.catalogue():
            raise ProblemError(
                400, f"metric: there is no metric {query.metric!r}", parameter="metric"
            )
        received = found(principal, host).summary.last_received
        end = received if query.to is None else query.to
        start = end - RANGE_SECONDS if query.from_ is None else query.from_
        if start > end:
            raise ProblemError(400, "from: it is later than to", parameter="from")
        rows = services.stages.read(
            lambda line: (
                nodes.series(line.windows, host, query.metric, start, end, permits=of(principal))
                or []
            )
        )
        return NodeSeries(
            metric=query.metric,
            unit=metrics.catalogue()[query.metric].unit,
            series=[
                NodeLine(
                    attributes=dict(row.attributes),
                    points=[
                        (rfc3339(at), _value(value))
                        for at, value in zip(row.at.tolist(), row.value.tolist(), strict=True)
                    ],
                )
                for row in joined_nodes.series(rows)
            ],
        )

    return routes


def _listed(one: nodes.HostDetail | None) -> list[nodes.HostDetail]:
    return [] if one is None else [one]


def _users(services: CollectorParts, host: str, jobs: list[str]) -> dict[str, tuple[str, int]]:
    """Return the job and the rank that use each device of a host."""

    def ask(line: nodes.HasWindows) -> dict[str, tuple[str, int]]:
        return {
            hw_id: (job, rank)
            for job in jobs
            for hw_id, rank in nodes.device_ranks(line.windows, job, host).items()
        }

    found: dict[str, tuple[str, int]] = services.stages.read(ask)
    return found


def _reading(row: nodes.NewestReading) -> NodeReading:
    return NodeReading(
        metric=row.metric,
        attributes=dict(row.attributes),
        value=_value(row.value),
        at=rfc3339(row.at),
    )


def _value(value: float) -> float | str:
    """Return a value as JSON has it: NaN and infinities as words."""
    found = shown(value)
    return value if found is None else found
