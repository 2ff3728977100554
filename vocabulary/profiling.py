"""A request for a profile: what a collector asks of an agent, and the agent of a probe.

A probe sends datagrams and receives none, so the agent writes what it asks for into a small file
beside its socket, which the probe's thread looks at now and then.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .shapes import DocumentShape

EVENT = "training.profile"
"""Name of the event that answers a request; see the event catalogue."""
LARGEST = 64 << 10
"""Bytes of the file of requests: some hundreds of requests."""
MOST_STEPS = 100
_VERSION = 1
_LONGEST_ID = 64


class RequestError(ValueError):
    """A request that does not follow the form; its text says what and where."""


@dataclass(frozen=True, slots=True)
class ProfileRequest(DocumentShape):
    """What is asked of one rank: a profile of `steps` steps, of `seconds` seconds at most.

    `max_bytes` is the largest trace that is taken, compressed; `until` is when the request is no
    longer worth starting (s since the epoch).
    """

    id: str
    job: str
    rank: int
    steps: int
    seconds: float
    max_bytes: int
    until: float

    @classmethod
    def parse(cls, document: object) -> "ProfileRequest":
        """Return the request that a document holds. Raises RequestError."""
        if not isinstance(document, Mapping):
            raise RequestError("a request is an object")
        request = cls(
            id=_text(document, "id"),
            job=_text(document, "job"),
            rank=_whole(document, "rank"),
            steps=_whole(document, "steps"),
            seconds=_number(document, "seconds"),
            max_bytes=_whole(document, "max_bytes"),
            until=_number(document, "until"),
        )
        if len(request.id) > _LONGEST_ID or not request.id.isalnum():
            raise RequestError(f"id: letters and digits, {_LONGEST_ID} at most")
        if not 0 < request.steps <= MOST_STEPS:
            raise RequestError(f"steps: a number from 1 to {MOST_STEPS}")
        return request


def requests_file(socket: Path) -> Path:
    return socket.with_name(socket.name + ".requests")


def pack(requests: Iterable[ProfileRequest]) -> bytes:
    """Return the bytes of the file."""
    rows = [request.document() for request in requests]
    return json.dumps({"v": _VERSION, "requests": rows}, separators=(",", ":")).encode()


def unpack(data: bytes) -> list[ProfileRequest]:
    """Return the requests of the file. Raises RequestError."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"not JSON: {error}") from error
    if not isinstance(body, dict) or body.get("v") != _VERSION:
        raise RequestError(f"not a list of requests of version {_VERSION}")
    rows = body.get("requests")
    if not isinstance(rows, list):
        raise RequestError("requests: a list is needed")
    return [ProfileRequest.parse(row) for row in rows]


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if not isinstance(value, str) or not value:
        raise RequestError(f"{key}: a non-empty text is needed")
    return value


def _whole(document: Mapping[str, Any], key: str) -> int:
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RequestError(f"{key}: a whole number from 0 is needed")
    return value


def _number(document: Mapping[str, Any], key: str) -> float:
    value = document.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RequestError(f"{key}: a number is needed")
    return float(value)
