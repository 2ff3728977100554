"""/session: who the collector takes the caller for, so that a page offers only what is allowed."""

from typing import Annotated

from fastapi import APIRouter, Depends

from ....vocabulary.answers.service import SessionDocument
from ..auth import TokenGuard, TokenPrincipal
from ..shape_routes import ShapeRouter


def router(guard: TokenGuard) -> APIRouter:
    """Return the route; any token may ask."""
    routes = ShapeRouter(tags=["health"])
    anybody = Annotated[TokenPrincipal, Depends(guard.require("ingest"))]

    @routes.get("/session", summary="Get the role of the token that asks")
    async def session(principal: anybody) -> SessionDocument:
        return SessionDocument(
            role=principal.role,
            name=principal.name,
            jobs=list(principal.jobs),
            token_required=not guard.open,
        )

    return routes
