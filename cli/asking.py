"""Requests to a running collector, with the standard library alone."""

import argparse
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

DEFAULT_URL = "http://127.0.0.1:8470"

_TIMEOUT_SECONDS = 30.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class AskingError(Exception):
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


class Collector:
    """A running collector."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AskingError(f"{url!r} is no address: write http://HOST:8470")
        self._url = url.rstrip("/")
        self._token = token
        handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
        if parts.hostname in _LOOPBACK:
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy is no way to this machine
        self._opener = urllib.request.build_opener(*handlers)

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Collector":
        """Return the collector that arguments and environment name. Raises AskingError."""
        url = arguments.url or os.environ.get("RANKSCOPE_URL") or DEFAULT_URL
        return cls(url, arguments.token or os.environ.get("RANKSCOPE_TOKEN"))

    def get(self, *path: str, **parameters: str | int | None) -> dict[str, Any]:
        """Return the object at a path below /api/v1. Raises AskingError."""
        return self._ask(path, parameters)

    def post(self, *path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send an object to a path below /api/v1 and return the answer. Raises AskingError."""
        return self._ask(path, {}, json.dumps(body or {}).encode())

    def _ask(
        self,
        path: Sequence[str],
        parameters: Mapping[str, str | int | None],
        body: bytes | None = None,
    ) -> dict[str, Any]:
        joined = "/".join(quote(part, safe="") for part in path)
        given = {name: value for name, value in parameters.items() if value is not None}
        query = f"?{urlencode(given)}" if given else ""
        url = f"{self._url}/api/v1/{joined}{query}"
        request = urllib.request.Request(url, data=body)  # noqa: S310  http(s) only: checked above
        request.add_header("accept", "application/json")
        if body is not None:
            request.add_header("content-type", "application/json")
        if self._token:
            request.add_header("authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AskingError(_problem(error), status=error.code) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise AskingError(f"no collector answers at {self._url}: {reason}") from None
        if not isinstance(found, dict):
            raise AskingError(f"what answers at {self._url} is no collector")
        return found

    def every(self, *path: str, **parameters: str | int | None) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page after page. Raises AskingError."""
        cursor: str | None = None
        while True:
            page = self.get(*path, **parameters, cursor=cursor)
            yield from page["items"]
            cursor = page.get("next_cursor")
            if cursor is None:
                return


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
