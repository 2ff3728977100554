"""/runbooks: what to do about a fault, as Markdown; an incident names that of its first cause."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from ....alerts.causes import runbook_pages
from ..auth import TokenGuard, TokenPrincipal

_TYPE = "text/markdown"
_MARKDOWN = {200: {"content": {_TYPE: {"schema": {"type": "string"}}}}}


def router(guard: TokenGuard) -> APIRouter:
    """Return the route. The pages are those of this version, the same for every reader."""
    routes = APIRouter(tags=["incidents"])
    reader = Annotated[TokenPrincipal, Depends(guard.require("read"))]

    @routes.get(
        "/runbooks/{fault}",
        summary="Get the runbook of a fault",
        response_class=Response,
        responses=_MARKDOWN,  # type: ignore[arg-type]
    )
    def runbook(
        _: reader, fault: Annotated[str, Path(max_length=100, examples=["host.lost"])]
    ) -> Response:
        return Response(runbook_pages.page(fault), media_type=_TYPE)

    return routes
