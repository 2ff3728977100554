"""`/`, /console: the built-in pages; no token, they ask for one themselves. `/docs` leads there."""

import gzip

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from ....dashboards import console
from ....vocabulary.times import rfc3339
from ..problems import ProblemError

API_PAGE = "/#/api"
"""The page of the API, made of /openapi.json; FastAPI's own loads scripts from elsewhere."""


def router(until: float | None) -> APIRouter:
    """Return the routes; `until` is when what they show was over, None while it goes on."""
    over = "" if until is None else rfc3339(until)
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def index(request: Request) -> Response:
        return _page("/", request, over)

    @routes.get("/docs")
    def docs() -> Response:
        return RedirectResponse(API_PAGE, status_code=307)

    @routes.get("/console/{name:path}")
    async def asset(name: str, request: Request) -> Response:
        return _page(f"/console/{name}", request)

    return routes


def _page(path: str, request: Request, until: str = "") -> Response:
    """Return a file of the console: nothing where the browser has it, else compressed if it can."""
    found = console.packed(path, until)
    if found is None:
        raise ProblemError(404, f"there is nothing at {path}")
    headers = {**console.HEADERS, "ETag": found.tag, "Vary": "Accept-Encoding"}
    if found.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(found.body, media_type=found.media_type, headers=headers)
    return Response(gzip.decompress(found.body), media_type=found.media_type, headers=headers)
