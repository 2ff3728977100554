"""Requests to a running collector, with the standard library alone."""

import argparse
import http.client
import itertools
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

DEFAULT_URL = "http://127.0.0.1:8470"

_TIMEOUT_SECONDS = 30.0
_SLOW_SECONDS = 3700.0
"""Longer than the collector itself may take (past.seconds)."""
_SHORTEST = 4
"""Characters of an incident's id that are enough where they are unique."""
_PAGE = 200
"""Items asked for at once."""
Parameter = str | int | None
"""A value of a query; None is left out."""

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class CollectorAnswerError(Exception):
    """The collector did not answer, or not with what was asked for; the text is a message.

    `status` is the HTTP status, None when there was no answer.
    """

    def __init__(self, text: str, *, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the collector's address and token."""
    parser.add_argument(
        "--url", help=f"address of the collector (RANKSCOPE_URL; default: {DEFAULT_URL})"
    )
    parser.add_argument("--token", help="bearer token (RANKSCOPE_TOKEN)")


def given(arguments: argparse.Namespace) -> tuple[str, str | None]:
    """Return the collector's address and token as arguments and environment name them."""
    url = arguments.url or os.environ.get("RANKSCOPE_URL") or DEFAULT_URL
    return url, arguments.token or os.environ.get("RANKSCOPE_TOKEN")


class CollectorClient:
    """A running collector."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CollectorAnswerError(f"{url!r} is not an address: write http://HOST:8470")
        self._url = url.rstrip("/")
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if parts.hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy is no way to this machine
        self._opener = urllib.request.build_opener(*handlers)

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "CollectorClient":
        """Return the collector that arguments and environment name. Raises CollectorAnswerError."""
        return cls(*given(arguments))

    def get(self, *path: str, **parameters: Parameter) -> dict[str, Any]:
        """Return the object at a path below /api/v1. Raises CollectorAnswerError."""
        return self._object(self._opened(_below(path, parameters)))

    def slowly(self, *path: str, **parameters: Parameter) -> dict[str, Any]:
        """Return the object at a path whose answer may take minutes.

        Raises CollectorAnswerError.
        """
        below = _below(path, parameters)
        return self._object(self._opened(below, timeout_seconds=_SLOW_SECONDS))

    def post(self, *path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send an object to a path below /api/v1 and return the answer.

        Raises CollectorAnswerError.
        """
        return self._object(self._opened(_below(path), body=json.dumps(body or {}).encode()))

    def send_logs(self, document: str) -> None:
        """Send an OTLP request of logs, as an agent does. Raises CollectorAnswerError."""
        self._read(self._opened("v1/logs", body=document.encode(), root=""))

    def act(self, *path: str, body: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], bool]:
        """Do something about an incident (POST a body, DELETE without one).

        Raises CollectorAnswerError.

        Returns its document, and whether that shows it: a collector that is behind takes it and
        applies it later.
        """
        data, method = (None, "DELETE") if body is None else (json.dumps(body).encode(), "POST")
        answer = self._opened(_below(path), body=data, method=method)
        applied: bool = answer.status != http.client.ACCEPTED
        return self._object(answer), applied

    def incident(self, identity: str) -> dict[str, Any]:
        """Return an incident by its id, or by its beginning where that is unique.

        Raises CollectorAnswerError.
        """
        try:
            return self.get("incidents", identity)
        except CollectorAnswerError as error:
            if error.status != 404 or len(identity) < _SHORTEST:
                raise
            rows = self.every("incidents", limit=_PAGE)
            fits = [row for row in rows if row["id"].startswith(identity)]
            if len(fits) > 1:
                ids = ", ".join(row["id"] for row in fits[:5])
                raise CollectorAnswerError(
                    f"{identity} is the beginning of several: {ids}"
                ) from None
            if not fits:
                raise
            return fits[0]

    def text(self, *path: str, **parameters: Parameter) -> str:
        """Return the text at a path below /api/v1. Raises CollectorAnswerError."""
        return self._read(self._opened(_below(path, parameters), accept="text/csv")).decode()

    def save(self, target: Path, *path: str) -> int:
        """Write what is at a path into a file; return its bytes.

        Raises CollectorAnswerError and OSError.
        """
        answer = self._opened(_below(path), accept="*/*")
        with target.open("wb") as file:
            return file.write(self._read(answer))

    def lines(self, *path: str, **parameters: Parameter) -> tuple[Iterator[str], Mapping[str, str]]:
        """Return the lines at a path, as they arrive, and the headers.

        Raises CollectorAnswerError.
        """
        answer = self._opened(_below(path, parameters))
        return _read_lines(answer, self._url), answer.headers

    def _object(self, answer: Any) -> dict[str, Any]:
        try:
            found = json.loads(self._read(answer))
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise CollectorAnswerError(f"what answers at {self._url} is not a collector")
        return found

    def _read(self, answer: Any) -> bytes:
        try:
            with answer:
                body: bytes = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise CollectorAnswerError(f"{self._url} broke off in its answer: {error}") from None
        return body

    def _opened(
        self,
        below: str,
        *,
        body: bytes | None = None,
        method: str | None = None,
        accept: str = "application/json",
        timeout_seconds: float = _TIMEOUT_SECONDS,
        root: str = "api/v1/",
    ) -> Any:
        """Return the answer, not yet read: to a GET, or a POST of `body`, unless `method` is given.

        Raises CollectorAnswerError.
        """
        request = urllib.request.Request(f"{self._url}/{root}{below}", data=body, method=method)  # noqa: S310  http(s) only: checked above
        if body is not None:
            request.add_header("content-type", "application/json")
        request.add_header("accept", accept)
        if self._token:
            request.add_header("authorization", f"Bearer {self._token}")
        try:
            return self._opener.open(request, timeout=timeout_seconds)
        except urllib.error.HTTPError as error:
            raise CollectorAnswerError(_problem(error), status=error.code) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            reason = getattr(reason, "strerror", None) or reason
            raise CollectorAnswerError(
                f"no collector answers at {self._url}: {reason}; start one (rankscope collector), "
                "or name its address (--url or RANKSCOPE_URL)"
            ) from None

    def first(self, number: int, *path: str, **parameters: Parameter) -> list[dict[str, Any]]:
        """Return at most so many items of a list. Raises CollectorAnswerError."""
        found = self.every(*path, **parameters, limit=min(number, _PAGE))
        return list(itertools.islice(found, number))

    def every(self, *path: str, **parameters: Parameter) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page after page. Raises CollectorAnswerError."""
        cursor: str | None = None
        while True:
            page = self.get(*path, **parameters, cursor=cursor)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return


def count(text: str) -> int:
    """Return a number from 1, as an argument of a parser."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def _below(path: Sequence[str], parameters: Mapping[str, Parameter] | None = None) -> str:
    """Return what follows /api/v1/: the path with its parts quoted, and the query."""
    joined = "/".join(quote(part, safe="") for part in path)
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    return f"{joined}?{urlencode(given)}" if given else joined


def _read_lines(answer: Any, url: str) -> Iterator[str]:
    try:
        with answer:
            for line in answer:
                yield line.decode().rstrip("\n")
    except (OSError, http.client.HTTPException) as error:
        raise CollectorAnswerError(
            f"{url} broke off in the middle of its answer: {error}"
        ) from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token elsewhere."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        """Return nothing: the redirect is answered as the error it is."""


def _problem(error: urllib.error.HTTPError) -> str:
    """Return the message of a problem document."""
    try:
        body = json.load(error)
    except (OSError, ValueError):
        body = None
    detail = body.get("detail") if isinstance(body, Mapping) else None
    if error.code == 401:
        return f"{detail or 'a token is required'} (--token or RANKSCOPE_TOKEN)"
    return str(detail or f"the collector answered {error.code}")
