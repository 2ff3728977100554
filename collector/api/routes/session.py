"""/session: who the collector takes the caller for, so that a page offers only what is allowed."""

from typing import Annotated

from fastapi import APIRouter, Depends

from .. import shapes
from ..auth import Guard, Principal


def router(guard: Guard) -> APIRouter:
    """Return the route; any token may ask."""
    routes = APIRouter(tags=["health"])
    anybody = Annotated[Principal, Depends(guard.require("ingest"))]

    @routes.get("/session", summary="Get the role of the token that asks")
    async def session(principal: anybody) -> shapes.Session:
        return shapes.Session(
            role=principal.role,
            name=principal.name,
            jobs=list(principal.jobs),
            token_required=not guard.open,
        )

    return routes
