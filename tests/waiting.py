"""Waiting until something is so, for as long as a starved machine may need; asking over HTTP."""

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar

import httpx
import pytest

PATIENCE_SECONDS = 240.0
"""Of one wait. Far more than it takes: a test fails for what it tests, not for its machine."""

_SHORTEST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.01, 0.2, 1.2
_NOT_YET = (OSError, http.client.HTTPException, httpx.TransportError, LookupError)
_MOST_SHOWN = 4_000

T = TypeVar("T")


def until(
    look: Callable[[], T],
    what: str = "it",
    holds: Callable[[T], object] = bool,
    *,
    more: Callable[[], str] = str,
) -> T:
    """Return the first answer of `look` for which `holds` is true; an answer that holds by default.

    A server or a key that is not there yet is asked for again. In vain, the test fails with what
    was waited for and the last answer, or error, and with `more`.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    pause = _SHORTEST_PAUSE
    while True:
        last: object
        try:
            answer = look()
            if holds(answer):
                return answer
            last = answer
        except _NOT_YET as error:
            last = repr(error)  # the error itself would keep this frame, and its socket, alive
            if isinstance(error, urllib.error.HTTPError):
                error.close()
        if time.monotonic() > end:
            seen = f"waited {PATIENCE_SECONDS:.0f} s in vain for {what}; last seen: {last!r}"
            pytest.fail(f"{seen[:_MOST_SHOWN]}\n{more()}")
        time.sleep(pause)
        pause = min(_GROWTH * pause, _LONGEST_PAUSE)


def get(address: str, path: str) -> Any:
    """Return what is in the JSON at a path of a server."""
    with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
        return json.load(answer)
