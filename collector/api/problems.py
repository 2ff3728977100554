"""Every error as a problem document (RFC 9457), whoever raises it.

A bad parameter of the path or query is 400 and names it; a body that says something wrong is 422
and points at it. What was sent is never repeated: it may hold secrets.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from ...alerts.causes.runbook_pages import RunbookError
from ..intake.waiting import UnavailableError
from ..profiles.shelf import UnknownProfileError
from ..store.errors import RefusedError, UnknownIdError, UnusableError

MEDIA_TYPE = "application/problem+json"

_LOG = structlog.get_logger(__name__)


class ProblemError(Exception):
    """An answer that is an error. `more` are further members of the document."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers
        self.more = more


def document(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """Return a problem document; its type is about:blank, so the title is the status' phrase."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}


def answer(
    status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """Return a problem document as a response."""
    return JSONResponse(
        document(status, detail, **more),
        status_code=status,
        headers=dict(headers or {}),
        media_type=MEDIA_TYPE,
    )


def install(app: FastAPI) -> None:
    """Make the application answer every error with a problem document."""
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    for unknown in (UnknownIdError, UnknownProfileError, RunbookError):
        app.add_exception_handler(unknown, _unknown)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(UnusableError, _unusable)
    app.add_exception_handler(UnavailableError, _unavailable)
    app.add_exception_handler(Exception, _defect)


async def _problem(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ProblemError)  # noqa: S101  starlette's handlers take any exception
    return answer(error.status, error.detail, headers=error.headers, **error.more)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    detail = str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail = f"there is nothing at {request.url.path}"
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not a method of {request.url.path}"
    return answer(error.status_code, detail, headers=error.headers)


async def _invalid(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first, *_ = found = error.errors()
    place = first["loc"][0]
    if first["type"] == "json_invalid":
        return answer(400, f"the body is not JSON: {first['ctx']['error']}")
    if place != "body":
        name = str(first["loc"][1] if len(first["loc"]) > 1 else place)
        return answer(400, f"{name}: {_words(first)}", parameter=name)
    errors = [
        {
            "pointer": "#" + "".join(f"/{part}" for part in row["loc"][1:]),
            "detail": _words(row),
        }
        for row in found
    ]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    return answer(422, f"{where}: {_words(first)}", errors=errors)


def _words(row: Mapping[str, Any]) -> str:
    message = str(row["msg"]).removeprefix("Value error, ")
    if row["type"] == "extra_forbidden":
        return "there is no such parameter" if row["loc"][0] == "query" else "there is no such key"
    return message[:1].lower() + message[1:]


async def _unknown(_request: Request, error: Exception) -> JSONResponse:
    return answer(404, str(error))


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    return answer(409, str(error))


async def _unusable(_request: Request, error: Exception) -> JSONResponse:
    return answer(503, str(error), headers={"retry-after": "5"})


async def _unavailable(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, UnavailableError)  # noqa: S101
    return answer(503, str(error), headers={"retry-after": str(error.retry_after_seconds)})


async def _defect(request: Request, error: Exception) -> JSONResponse:
    # Starlette raises it again for the server's log, so it is seen; the sender learns no more.
    return defect(request.url.path, error)


def defect(path: str, error: BaseException) -> JSONResponse:
    """Log what nobody expected, and return its answer."""
    _LOG.error("request failed with an unexpected error", path=path, error=type(error).__name__)
    return answer(500, "unexpected error in the collector; see its log")
