"""Lines that a collector of logs keeps inside a JSON object: Docker, Loki, journald, clouds."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from .. import json_text

_TEXTS = ("log", "line", "message", "MESSAGE", "msg", "textPayload", "body")
_TIMES = ("time", "timestamp", "@timestamp", "ts", "asctime", "date", "__REALTIME_TIMESTAMP")
_HOSTS = ("_HOSTNAME", "hostname", "host", "node_name")
_VALUES = frozenset({"loss", "train_loss", "step", "global_step", "num_updates"})
"""Fields of an object that is itself what a job reports."""
_MARKS = tuple(f'"{name}"' for name in _TEXTS)
_PER_SECOND = (1e9, 1e6, 1e3, 1.0)
_EARLIEST, _LATEST = 946_684_800.0, 4_102_444_800.0


def opened(text: str) -> tuple[str, str, str] | None:
    """Return the line inside, when it was written and on which host; None for another text.

    The time is as text with a zone, "" where there is none, and so is the host.
    """
    if not text.startswith("{") or not any(mark in text for mark in _MARKS):
        return None
    found = json_text.value(text)
    if not isinstance(found, Mapping):
        return None
    fields = cast("Mapping[str, Any]", found)
    if not _VALUES.isdisjoint(fields):
        return None
    inside = next((fields[name] for name in _TEXTS if isinstance(fields.get(name), str)), None)
    if inside is None:
        return None
    stamp = next((one for name in _TIMES if (one := _stamp(fields.get(name)))), "")
    host = next((fields[name] for name in _HOSTS if isinstance(fields.get(name), str)), "")
    return inside.rstrip("\n"), stamp, host


def _stamp(value: object) -> str:
    """Return a time as text: as it is written, or from seconds, ms, us or ns since the epoch."""
    if isinstance(value, str) and not value.isdigit():
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    number = float(value)
    for unit in _PER_SECOND:
        if _EARLIEST <= number / unit < _LATEST:
            return datetime.fromtimestamp(number / unit, tz=UTC).isoformat()
    return ""
