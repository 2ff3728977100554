"""/stats: how quickly things are found and put right, and what they cost."""

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from ....vocabulary.times import rfc3339
from ...services import Services
from ...store.costs import Costs
from .. import shapes
from ..auth import Guard, Principal
from ..goodput import goodput
from ..ledger import Ledger
from ..parameters import Moment, Parameters
from ..watched import Watched


class StatsQuery(Parameters):
    """`since`: only incidents with an onset at or after it."""

    since: Moment | None = None


def router(services: Services, guard: Guard, ledger: Ledger, watched: Watched) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["stats"])
    reader = Annotated[Principal, Depends(guard.require("read"))]

    @routes.get("/stats", summary="Get times and costs")
    def stats(principal: reader, query: Annotated[StatsQuery, Query()]) -> shapes.Stats:
        jobs = watched.jobs()
        seen = [row for row in ledger.rows(services.clock.now()) if principal.permits(row.jobs)]
        costs = [row for row in seen if query.since is None or row.opened_at >= query.since]
        return shapes.Stats(
            since=None if query.since is None else rfc3339(query.since),
            incidents={
                "open": sum(row.status == "open" for row in costs),
                "acknowledged": sum(row.status == "acknowledged" for row in costs),
                "resolved": sum(row.status == "resolved" for row in costs),
            },
            mttd_seconds=_mean(row.detected_at - row.opened_at for row in costs),
            mtta_seconds=_mean(
                row.acknowledged_at - row.detected_at
                for row in costs
                if row.acknowledged_at is not None
            ),
            mttr_seconds=_mean(
                row.resolved_at - row.opened_at for row in costs if row.resolved_at is not None
            ),
            goodput=[
                shapes.JobGoodput(job=row.job, ratio=goodput(row, ledger))
                for row in jobs
                if principal.permits([row.job])
            ],
            gpu_hours_lost=sum(row.gpu_seconds_lost for row in costs) / 3600,
            lost_by_fault=_by_fault(costs),
        )

    return routes


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def _by_fault(costs: Iterable[Costs]) -> list[shapes.FaultCost]:
    found: dict[str, list[float]] = {}
    for row in costs:
        found.setdefault(row.fault, []).append(row.gpu_seconds_lost)
    rows = [
        shapes.FaultCost(fault=fault, gpu_hours=sum(lost) / 3600, incidents=len(lost))
        for fault, lost in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.gpu_hours, row.fault))
