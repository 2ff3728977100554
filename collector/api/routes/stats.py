"""/stats and /report: how quickly things are found and put right, and what they cost whom."""

import csv
import dataclasses
import io
from collections.abc import Iterable, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import field_validator
from starlette.responses import Response

from ....vocabulary.answers.costs import (
    FaultCost,
    JobGoodput,
    ReportDocument,
    ReportRow,
    StatsDocument,
)
from ....vocabulary.times import rfc3339
from ...accounting import totals as accounting
from ...accounting.goodput import GoodputMeter
from ...accounting.ledger import CostLedger
from ...accounting.metering import UsageMeter
from ...accounting.totals import KEYS, AccountingQuery, AccountingTotal, Key
from ...accounting.watched import JobSummaries
from ..auth import TokenGuard, TokenPrincipal
from ..pages import cut
from ..parameters import FaultId, JobPattern, Limit, Moment, Number, QueryParameters
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

_CSV = {200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
_COLUMNS = tuple(row.name for row in dataclasses.fields(ReportRow) if row.name not in KEYS)


class StatsQuery(QueryParameters):
    """`since`: only incidents with an onset at or after it; `until`: before it."""

    since: Moment | None = None
    until: Moment | None = None
    job: JobPattern | None = None
    user: JobPattern | None = None
    fault: FaultId | None = None

    @property
    def wanted(self) -> AccountingQuery:
        """Return it as a filter."""
        return AccountingQuery(self.since, self.until, self.job, self.user, self.fault)


class ReportQuery(StatsQuery):
    """`by`: what a row stands for, one or more of week, user, job, fault, joined by commas."""

    by: Annotated[
        str, Query(max_length=40, pattern=r"^[a-z]+(,[a-z]+)*$", examples=["week,user"])
    ] = "week,user,job"

    @field_validator("by")
    @classmethod
    def _known(cls, text: str) -> str:
        keys = text.split(",")
        if not set(keys) <= set(KEYS) or len(set(keys)) != len(keys):
            raise ValueError(f"write some of {', '.join(KEYS)}, each once")
        return text

    @property
    def keys(self) -> Sequence[Key]:
        """Return what a row stands for."""
        given = self.by.split(",")
        return sorted((key for key in KEYS if key in given), key=given.index)


class PagedReportQuery(ReportQuery):
    """A page of a report."""

    limit: Limit = 200
    cursor: Number | None = None


def router(
    services: CollectorParts,
    guard: TokenGuard,
    ledger: CostLedger,
    watched: JobSummaries,
    metering: UsageMeter,
    goodputs: GoodputMeter,
) -> APIRouter:
    routes = ShapeRouter(tags=["stats"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    def totals(
        principal: TokenPrincipal, keys: Sequence[Key], wanted: AccountingQuery
    ) -> dict[tuple[str, ...], AccountingTotal]:
        return accounting.added_up(
            keys,
            ledger.permitted(principal, services.clock.now()),
            [row for row in metering.usage() if principal.permits([row.job])],
            wanted=wanted,
            user_of=metering.user_of,
        )

    @routes.get("/stats", summary="Get times and costs")
    def stats(principal: reader, query: Annotated[StatsQuery, Query()]) -> StatsDocument:
        by_fault = totals(principal, ("fault",), query.wanted)
        every = [row for total in by_fault.values() for row in total.incidents]
        whole = AccountingTotal(incidents=every)
        seen = watched.jobs()
        shares = goodputs.of(seen)
        groups: dict[Key, list[ReportRow]] = {
            key: _rows((key,), totals(principal, (key,), query.wanted)) for key in KEYS
        }
        return StatsDocument(
            since=None if query.since is None else rfc3339(query.since),
            until=None if query.until is None else rfc3339(query.until),
            incidents={
                "open": sum(row.status == "open" for row in every),
                "acknowledged": sum(row.status == "acknowledged" for row in every),
                "resolved": sum(row.status == "resolved" for row in every),
            },
            mttd_seconds=whole.mttd,
            mtta_seconds=whole.mtta,
            mttr_seconds=whole.mttr,
            goodput=[
                JobGoodput(job=row.job, ratio=shares.get(row.job))
                for row in seen
                if principal.permits([row.job])
            ],
            gpu_hours_lost=sum(total.lost for total in by_fault.values()) / 3600,
            lost_by_fault=_by_fault(by_fault),
            by_fault=groups["fault"],
            by_job=groups["job"],
            by_user=groups["user"],
            by_week=groups["week"],
        )

    @routes.get("/report", summary="Get a show-back report")
    def report(principal: reader, query: Annotated[PagedReportQuery, Query()]) -> ReportDocument:
        rows = _rows(query.keys, totals(principal, query.keys, query.wanted))
        items, after = cut(rows, limit=query.limit, cursor=query.cursor)
        return ReportDocument(items=items, next_cursor=after)

    @routes.get(
        "/report.csv",
        summary="Get a show-back report as CSV",
        response_class=Response,
        responses=_CSV,  # type: ignore[arg-type]
    )
    def report_csv(principal: reader, query: Annotated[ReportQuery, Query()]) -> Response:
        rows = _rows(query.keys, totals(principal, query.keys, query.wanted))
        return Response(
            _csv(query.keys, rows),
            media_type="text/csv",
            headers={"content-disposition": 'attachment; filename="rankscope-report.csv"'},
        )

    return routes


def _rows(keys: Sequence[Key], totals: dict[tuple[str, ...], AccountingTotal]) -> list[ReportRow]:
    return [
        ReportRow(
            **dict(zip(keys, values, strict=True)),
            gpu_hours_used=None if row.used is None else row.used / 3600,
            gpu_hours_lost=row.lost / 3600,
            gpu_hours_gained=None if (gained := row.gained) is None else gained.gpu_hours,
            gpu_hours_gained_low=None if gained is None else gained.low,
            gpu_hours_gained_high=None if gained is None else gained.high,
            goodput=row.goodput,
            incidents=len(row.incidents),
            mttd_seconds=row.mttd,
            mtta_seconds=row.mtta,
            mttr_seconds=row.mttr,
            costliest_fault=row.costliest,
        )
        for values, row in totals.items()
    ]


def _by_fault(totals: dict[tuple[str, ...], AccountingTotal]) -> list[FaultCost]:
    rows = [
        FaultCost(fault=fault, gpu_hours=row.lost / 3600, incidents=len(row.incidents))
        for (fault,), row in totals.items()
    ]
    return sorted(rows, key=lambda row: (-row.gpu_hours, row.fault))


def _csv(keys: Sequence[str], rows: Iterable[ReportRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*keys, *_COLUMNS])
    for row in rows:
        writer.writerow([_cell(getattr(row, name)) for name in (*keys, *_COLUMNS)])
    return text.getvalue()


def _cell(value: str | float | None) -> str:
    """Return a cell; a text that a spreadsheet would take for a formula gets a quote before it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
