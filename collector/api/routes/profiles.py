"""/profiles: ask for one, see what came of it, get its traces; /agents: what agents ask for."""

import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, Response

from ....vocabulary.answers.profiles import (
    ProfileDocument,
    ProfiledRank,
    ProfilesDocument,
    RequestsDocument,
)
from ....vocabulary.profiling import MOST_STEPS
from ....vocabulary.times import rfc3339
from ...profiles import automatic, choosing
from ...profiles.profile import JobProfile
from ...profiles.shelf import ProfileShelf, ProfileTarget
from ...windows import queries
from ...windows.queries import RankSummary
from ..auth import TokenGuard, TokenPrincipal
from ..pages import PageQuery, cut
from ..parameters import QueryParameters
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter
from . import launchers, separating
from .incidents import finding

MOST_RANKS = 8
"""Of one profile: traces of a few ranks are looked at, not of a cluster."""

Rank = Annotated[int, Field(ge=0, lt=10_000_000)]
Host = Annotated[str, Path(max_length=400)]


class ProfileOrder(BaseModel):
    """Which ranks of which job: the first is the suspect, the others are its peers.

    With one rank a healthy peer is added. `steps` and `by` are the collector's and the token's
    where they are left out.
    """

    model_config = ConfigDict(extra="forbid")

    job: Annotated[str, Field(min_length=1, max_length=400)]
    ranks: Annotated[list[Rank], Field(min_length=1, max_length=MOST_RANKS)]
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)] | None = None
    incident: Annotated[str, Field(max_length=64)] | None = None
    by: Annotated[str, Field(max_length=200)] = ""


class ProfileFailure(BaseModel):
    """Why an agent sends no trace."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=1000)]


class ProfilesQuery(PageQuery):
    """Which profiles."""

    job: str | None = None
    incident: str | None = None


class RequestsQuery(QueryParameters):
    """What an agent asks for: it takes part in what it asks for, and in nothing else."""

    what: Literal["profiles", "checks", "launchers"] = "profiles"


class TraceQuery(QueryParameters):
    """What a trace holds: so many steps, in so many seconds."""

    steps: Annotated[int, Field(ge=0, le=MOST_STEPS)] = 0
    seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 0.0


def router(services: CollectorParts, guard: TokenGuard, shelf: ProfileShelf) -> APIRouter:
    """Return the routes. Agents use theirs with the token that they push with."""
    routes = ShapeRouter(tags=["profiles"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]
    admin = Annotated[TokenPrincipal, Depends(guard.require("admin"))]
    agent = Annotated[TokenPrincipal, Depends(guard.require("ingest"))]
    find_incident = finding(services.store)

    def now() -> float:
        return services.clock.now()

    def found(identity: str, principal: TokenPrincipal) -> JobProfile:
        profile = shelf.find(identity, now())
        if not principal.permits([profile.job]):
            raise ProblemError(404, f"there is no profile {identity!r}")
        return profile

    @routes.post("/profiles", summary="Profile ranks of a job", status_code=202)
    def ask(principal: admin, body: ProfileOrder) -> ProfileDocument:
        principal.check_job(body.job)
        if body.incident is not None:
            find_incident(body.incident, principal)
        at = now()
        rows = services.stages.read(lambda line: queries.ranks(line.windows, body.job))
        profile = shelf.request(
            body.job,
            _targets(body, rows, lambda host: shelf.asks(host, at)),
            steps=body.steps or services.settings.profiles.steps,
            by=body.by or principal.name or "somebody",
            incident=body.incident,
            now=at,
        )
        return _shown(profile)

    @routes.get("/profiles", summary="List profiles")
    def profiles(principal: reader, query: Annotated[ProfilesQuery, Query()]) -> ProfilesDocument:
        rows = [
            profile
            for profile in shelf.every(now=now(), job=query.job, incident=query.incident)
            if principal.permits([profile.job])
        ]
        items, after = cut(rows, limit=query.limit, cursor=query.cursor)
        return ProfilesDocument(items=[_shown(row) for row in items], next_cursor=after)

    @routes.get("/profiles/{profile:encoded}", summary="Get a profile and what differs in it")
    def profile(profile: str, principal: reader) -> ProfileDocument:
        return _shown(found(profile, principal))

    @routes.get(
        "/profiles/{profile:encoded}/ranks/{rank:rank}/trace",
        summary="Get a rank's trace, for Perfetto or chrome://tracing",
        response_class=Response,
        responses={
            200: {"content": {"application/gzip": {}}, "description": "Chrome trace JSON, gzip"}
        },
    )
    def trace(profile: str, rank: int, principal: reader) -> FileResponse:
        one = found(profile, principal)
        path = shelf.trace(one.id, rank, now())
        return FileResponse(
            path, media_type="application/gzip", filename=f"profile-{one.id}-rank-{rank}.json.gz"
        )

    @routes.get("/agents/{host:encoded}/requests", summary="Get what is asked of an agent")
    def requests(
        host: Host, principal: agent, query: Annotated[RequestsQuery, Query()]
    ) -> RequestsDocument:
        if query.what == "profiles":
            wanted = shelf.wanted(host, now())
            return RequestsDocument(items=[one for job, one in wanted if principal.permits([job])])
        principal.check_unlimited()
        orders = separating.orders if query.what == "checks" else launchers.orders
        return RequestsDocument(items=[*orders(services, host)])

    @routes.put(
        "/profiles/{profile:encoded}/ranks/{rank:rank}/trace",
        summary="Send the trace of a rank",
        status_code=204,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def upload(
        profile: str,
        rank: int,
        principal: agent,
        request: Request,
        query: Annotated[TraceQuery, Query()],
    ) -> Response:
        one = await run_in_threadpool(found, profile, principal)
        with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
            path = pathlib.Path(folder) / "trace"
            await _save(request, path, services.settings.profiles.max_trace_bytes)
            await run_in_threadpool(
                shelf.take, one.id, rank, path,
                steps=query.steps, seconds=query.seconds, now=now(),
            )  # fmt: skip
        return Response(status_code=204)

    @routes.post(
        "/profiles/{profile:encoded}/ranks/{rank:rank}/failure",
        summary="Say why there is no trace of a rank",
        status_code=204,
    )
    def failure(profile: str, rank: int, principal: agent, body: ProfileFailure) -> Response:
        one = found(profile, principal)
        shelf.fail(one.id, rank, body.text, now())
        return Response(status_code=204)

    return routes


def _targets(
    body: ProfileOrder, rows: Sequence[RankSummary], asks: Callable[[str], bool]
) -> list[ProfileTarget]:
    """Return the ranks to profile, the suspect first; with one of them a healthy peer."""
    hosts = {row.rank: row.host for row in rows}
    if not hosts:
        raise ProblemError(404, f"no job {body.job!r} has reported")
    ranks = list(dict.fromkeys(body.ranks))
    unknown = [rank for rank in ranks if rank not in hosts]
    if unknown:
        raise ProblemError(422, f"job {body.job!r} has no rank {unknown[0]}")
    if len(ranks) == 1:
        other = choosing.peer(rows, ranks[0], ranks, asks)
        ranks += [] if other is None else [other]
    return [
        ProfileTarget(rank, "peer" if place else "suspect", hosts[rank])
        for place, rank in enumerate(ranks)
    ]


async def _save(request: Request, path: pathlib.Path, largest: int) -> None:
    """Write the body to a file, up to so many bytes."""
    size = 0
    with path.open("wb") as file:
        async for piece in request.stream():
            size += len(piece)
            if size > largest:
                raise ProblemError(
                    413,
                    f"the trace has more than {largest} bytes (profiles.max_trace_bytes)",
                    headers={"connection": "close"},
                )
            file.write(piece)


def _shown(profile: JobProfile) -> ProfileDocument:
    result = automatic.result(profile, profile.created_at)
    traces = {path.rsplit("/", 2)[-2]: path for path in result.traces}
    return ProfileDocument(
        id=profile.id,
        job=profile.job,
        incident=profile.incident,
        by=profile.by,
        created_at=rfc3339(profile.created_at),
        until=rfc3339(profile.until),
        steps=profile.steps,
        status=profile.status,
        ranks=[
            ProfiledRank(
                rank=row.rank,
                role=row.role,
                host=row.host,
                status=row.status,
                text=row.text,
                bytes=row.bytes,
                steps=row.steps,
                seconds=row.seconds,
                trace=traces.get(str(row.rank)),
            )
            for row in profile.ranks
        ],
        comparison=None if result.suspect is None else result,
    )
