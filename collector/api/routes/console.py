"""`/`, /console: the built-in pages; no token, they ask for one themselves. `/docs` leads there."""

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from ....dashboards import console
from ..problems import ProblemError

API_PAGE = "/#/api"
"""The page of the API, made of /openapi.json; FastAPI's own loads scripts from elsewhere."""


def router() -> APIRouter:
    """Return the routes."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def index() -> Response:
        return _page("/")

    @routes.get("/docs")
    def docs() -> Response:
        return RedirectResponse(API_PAGE, status_code=307)

    @routes.get("/console/{name:path}")
    def asset(name: str) -> Response:
        return _page(f"/console/{name}")

    return routes


def _page(path: str) -> Response:
    found = console.page(path)
    if found is None:
        raise ProblemError(404, f"there is nothing at {path}")
    body, media_type = found
    return Response(body, media_type=media_type, headers=dict(console.HEADERS))
