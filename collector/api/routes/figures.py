"""/jobs/{job}/distribution, /heatmap, /phases, /waits: what a picture of a thousand ranks needs."""

import base64
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Query
from pydantic import Field
from starlette.responses import JSONResponse

from ....vocabulary import metrics
from ....vocabulary.answers.figures import (
    DistributionDocument,
    HeatmapDocument,
    PhaseTimes,
    WaitMatrix,
)
from ....vocabulary.times import rfc3339
from ...figures import distribution, heat, phases, waits
from ...figures.spread import rounded
from ...history.asking import JournalHistory, PastError
from ...windows.matrices import newest_window
from ..auth import TokenGuard, TokenPrincipal
from ..parameters import Moment, QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

T = TypeVar("T")
RANGE_SECONDS = 600.0


class FigureQuery(QueryParameters):
    """From when to when; without times the last ten minutes that the job reported."""

    from_: Annotated[Moment | None, Query(alias="from")] = None
    to: Moment | None = None


class MetricQuery(FigureQuery):
    """Which metric."""

    metric: str


class DistributionQuery(MetricQuery):
    """`rank`: lines of their own; `peers`: about so many lines of others; `points`: most values.

    `source`: journal reads what windows hold no more, which takes seconds. `also`: metrics that
    will be asked for next, read in the same pass and kept.
    """

    rank: Annotated[list[Annotated[int, Query(ge=0)]] | None, Field(max_length=256)] = None
    peers: Annotated[int, Query(ge=0, le=64)] = 0
    points: Annotated[int, Query(ge=2, le=2000)] = 240
    source: Literal["windows", "journal"] = "windows"
    also: Annotated[list[str] | None, Field(max_length=16)] = None


class HeatmapQuery(FigureQuery):
    """At most so many `rows` (of ranks) and `columns` (of steps)."""

    metric: str = "training.step.duration"
    rows: Annotated[int, Query(ge=1, le=4096)] = 256
    columns: Annotated[int, Query(ge=1, le=4096)] = 256


class PhasesQuery(FigureQuery):
    """At most so many `points`."""

    points: Annotated[int, Query(ge=1, le=2000)] = 120


def router(services: CollectorParts, guard: TokenGuard, past: JournalHistory) -> APIRouter:
    routes = ShapeRouter(tags=["jobs"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    def asked(
        principal: TokenPrincipal,
        job: str,
        query: FigureQuery,
        question: Callable[..., T],
    ) -> T:
        """Return what `question` says of the window, start and end, between two changes of it."""
        principal.check_job(job)

        def of_pipeline(line: Any) -> T:
            window = newest_window(line.windows, job)
            if window is None:
                raise ProblemError(404, f"no telemetry of job {job!r} is held")
            attempt = line.windows.attempt(job)
            end = attempt.last_at if query.to is None else query.to
            return question(window, start=_start(query, end), end=end)

        answer: T = services.stages.read(of_pipeline)
        return answer

    @routes.get(
        "/jobs/{job:encoded}/distribution",
        summary="Get a metric of a job summed up over its ranks",
        response_model=DistributionDocument,
    )
    def distribute(
        job: str, principal: reader, query: Annotated[DistributionQuery, Query()]
    ) -> JSONResponse:
        principal.check_job(job)
        unit, counter = _metric(query.metric)
        wanted = distribution.SpreadQuery(
            query.metric, counter, query.points, tuple(query.rank or ()), query.peers
        )
        if query.source == "journal":
            return JSONResponse(_reread(services, past, job, query, wanted, unit))
        found = asked(principal, job, query, partial(distribution.of, wanted=wanted))
        return JSONResponse(_named(found.document(), wanted, unit, "windows"))

    @routes.get("/jobs/{job:encoded}/heatmap", summary="Get a metric of a job by rank and step")
    def heatmap(
        job: str, principal: reader, query: Annotated[HeatmapQuery, Query()]
    ) -> HeatmapDocument:
        principal.check_job(job)
        unit, _ = _metric(query.metric)
        look = partial(heat.heat, metric=query.metric, rows=query.rows, columns=query.columns)
        return _heatmap(query.metric, unit, asked(principal, job, query, look))

    @routes.get("/jobs/{job:encoded}/phases", summary="Get where the time of a job's steps goes")
    def phase_times(
        job: str, principal: reader, query: Annotated[PhasesQuery, Query()]
    ) -> PhaseTimes:
        look = partial(phases.phases, points=query.points)
        return _phase_times(asked(principal, job, query, look))

    @routes.get("/jobs/{job:encoded}/waits", summary="Get who waits for whom in collectives")
    def wait_matrix(
        job: str, principal: reader, query: Annotated[FigureQuery, Query()]
    ) -> WaitMatrix:
        return _wait_matrix(asked(principal, job, query, waits.waits))

    return routes


def _heatmap(metric: str, unit: str | None, found: heat.HeatmapCells | None) -> HeatmapDocument:
    if found is None:
        return HeatmapDocument(
            metric=metric, unit=unit, rows=0, columns=0, ranks=[], steps=[],
            ranks_a_row=1, steps_a_column=1, first_at=None, last_at=None,
            low=0, high=0, cells="",
        )  # fmt: skip
    rows, columns = found.cells.shape
    return HeatmapDocument(
        metric=metric,
        unit=unit,
        rows=rows,
        columns=columns,
        ranks=found.ranks,
        steps=found.steps,
        ranks_a_row=found.ranks_a_row,
        steps_a_column=found.steps_a_column,
        first_at=rfc3339(found.first_at),
        last_at=rfc3339(found.last_at),
        low=found.low,
        high=found.high,
        cells=base64.b64encode(found.cells.tobytes()).decode(),
    )


def _phase_times(found: phases.PhaseSeconds | None) -> PhaseTimes:
    if found is None:
        return PhaseTimes(at=[], steps=[], seconds={})
    return PhaseTimes(
        at=[rfc3339(at) for at in found.at.tolist()],
        steps=found.steps,
        seconds={name: rounded(values) for name, values in found.seconds.items()},
    )


def _wait_matrix(found: waits.HostWaits | None) -> WaitMatrix:
    if found is None:
        return WaitMatrix(by="rank", names=[], seconds=[], steps=0, awaited=[])
    return WaitMatrix(
        by="rank" if found.by == "rank" else "host",
        names=found.names,
        seconds=[rounded(row) for row in found.seconds],
        steps=found.steps,
        awaited=found.awaited,
    )


def _metric(name: str) -> tuple[str | None, bool]:
    """Return the unit of a metric and whether it is a counter."""
    found = metrics.catalogue().get(name.partition("|")[0])
    if found is None:
        raise ProblemError(400, f"metric: there is no metric {name!r}", parameter="metric")
    return found.unit, found.kind == "counter"


def _start(query: FigureQuery, end: float) -> float:
    start = end - RANGE_SECONDS if query.from_ is None else query.from_
    if start > end:
        raise ProblemError(400, "from: it is later than to", parameter="from")
    return start


def _reread(
    services: CollectorParts,
    past: JournalHistory,
    job: str,
    query: DistributionQuery,
    wanted: distribution.SpreadQuery,
    unit: str | None,
) -> dict[str, Any]:
    end = min(query.to or services.clock.now(), services.clock.now())
    start = _start(query, end)
    try:
        held = past.held_from(job)
    except PastError as error:
        raise _unread(error) from error
    if held is None:
        raise ProblemError(404, f"no telemetry of job {job!r} is held")
    if end < held:
        raise ProblemError(
            404,
            f"this time range is held no more: the journal begins at {rfc3339(held)}",
            held_from=rfc3339(held),
        )
    if end - start > services.settings.past.hours * 3600:
        raise ProblemError(
            400,
            f"from: the range is longer than {services.settings.past.hours:g} h (past.hours)",
            parameter="from",
        )
    try:
        found = past.distribution(job, max(start, held), end, wanted, *_also(query, wanted))
    except PastError as error:
        raise _unread(error) from error
    return _named(found, wanted, unit, "journal")


def _unread(error: PastError) -> ProblemError:
    headers = {"retry-after": "2"} if error.busy else None
    return ProblemError(503, str(error), headers=headers)


def _also(
    query: DistributionQuery, wanted: distribution.SpreadQuery
) -> list[distribution.SpreadQuery]:
    """Return what is wanted of the metrics that will be asked for next."""
    names = dict.fromkeys(query.also or ())
    return [
        replace(wanted, metric=name, counter=_metric(name)[1])
        for name in names
        if name != wanted.metric
    ]


def _named(
    found: dict[str, Any], wanted: distribution.SpreadQuery, unit: str | None, source: str
) -> dict[str, Any]:
    return {
        "metric": wanted.metric,
        "unit": unit,
        "rate": wanted.counter,
        "source": source,
        **found,
    }
