"""The files in which torchrun's workers leave their exception: `attempt_N/LOCAL_RANK/error.json`.

torch 2.13 writes them where the function that it starts is marked by `@record`, below `--log-dir`.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ...vocabulary.samples import Event
from .. import json_text
from . import signatures, tracebacks

_HEAD = re.compile(rb'\s*\{\s*"message"\s*:\s*\{\s*"(?:message|extraInfo|errorCode)"\s*:')
LONGEST = 1 << 20
"""Bytes of a file that are read."""


@dataclass(frozen=True, slots=True)
class WorkerError:
    """An exception that ended a worker: its last line, and when, s since the epoch; 0: unknown."""

    text: str
    at: float

    def event(self, rank: int | None) -> Event | None:
        """Return it as a line of a log would be reported, None for an end that somebody asked."""
        if fault := signatures.read(self.text):
            return Event("log.fault", self.at, fault.pairs(self.text, rank))
        kind = tracebacks.raised(self.text) or "Exception"
        raised = tracebacks.RaisedException(kind, self.text)
        return tracebacks.event(raised, self.at, rank)


def is_error_file(head: bytes) -> bool:
    """Tell whether a file that begins so is one."""
    return _HEAD.match(head) is not None


def read(data: bytes) -> WorkerError | None:
    """Return what such a file holds, None where it is none."""
    outer = _mapping(_mapping(json_text.value(data)).get("message"))
    text = outer.get("message")
    if not isinstance(text, str) or not text.strip():
        return None
    stamp = _mapping(outer.get("extraInfo")).get("timestamp")
    return WorkerError(text.strip().splitlines()[0], _seconds(stamp))


def _mapping(held: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", held) if isinstance(held, dict) else {}


def _seconds(stamp: object) -> float:
    try:
        at = float(str(stamp))
    except ValueError:
        return 0.0
    return at if math.isfinite(at) and at > 0 else 0.0
