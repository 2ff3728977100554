"""/agents/{host}/launchers: what agents answer who were asked to end ranks that torchrun started.

They ask at `/agents/{host}/requests?what=launchers`, as they do for profiles and checks.
"""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from ....vocabulary.answers.remedies import LauncherOrderDocument
from ..auth import TokenGuard, TokenPrincipal
from ..problems import ProblemError
from ..services import CollectorParts
from ..shape_routes import ShapeRouter

Host = Annotated[str, Path(max_length=400)]
Action = Annotated[str, Path(max_length=64)]


class LauncherAnswer(BaseModel):
    """What an agent did, or why it did nothing."""

    model_config = ConfigDict(extra="forbid")

    state: Literal["done", "refused"]
    text: Annotated[str, Field(max_length=1000)] = ""


def orders(services: CollectorParts, host: str) -> list[LauncherOrderDocument]:
    """Return what the agent of a host has not answered yet."""
    rows = services.store.wanted_of_launchers(host, services.store_clock.now())
    return [
        LauncherOrderDocument(id=row.action, job=row.job, what=row.what, at=row.at) for row in rows
    ]


def router(services: CollectorParts, guard: TokenGuard) -> APIRouter:
    """Return the routes. Agents use theirs with the token that they push with."""
    routes = ShapeRouter(tags=["actions"])
    agent = Annotated[TokenPrincipal, Depends(guard.require("ingest"))]
    store = services.store

    @routes.post(
        "/agents/{host:encoded}/launchers/{action:encoded}",
        summary="Say what became of an order to torchrun's ranks",
        status_code=204,
    )
    def answered(host: Host, action: Action, principal: agent, body: LauncherAnswer) -> Response:
        principal.check_unlimited()
        if not store.launcher_answered(action, host, body.state, body.text):
            raise ProblemError(404, f"nothing was asked of {host} for action {action!r}")
        return Response(status_code=204)

    return routes
