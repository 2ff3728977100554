"""Lines of a kernel's log inside JSON: as the journal, log stores and container runtimes export it.

One object a line. Also what node-problem-detector logs of what it saw. Sources:
systemd.journal-fields(7); Docker's json-file driver; Loki's and Elastic's exports; Google's
LogEntry; node-problem-detector v0.8 (pkg/problemdaemon, the text of a status).
"""

import re
from datetime import tzinfo
from typing import Any, TypeGuard, cast

from .. import json_text
from . import forms
from .forms import LineHead

_TEXTS = ("MESSAGE", "message", "msg", "log", "line", "text", "textPayload")
_TIMES = ("timestamp", "@timestamp", "time", "ts", "receiveTimestamp")
_HOSTS = ("_HOSTNAME", "hostname", "host", "node", "nodename", "node_name", "instance")
_WRAPPERS = ("jsonPayload", "fields", "stream", "labels", "_source", "kubernetes", "resource")
_SEEN = re.compile(
    r"Timestamp:(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4})[^{}]*?Message:([^}\]]{1,2000})"
)


def read(text: str, zone: tzinfo | None = None) -> tuple[LineHead, str] | None:
    """Return time and host of an exported line and its text; None where it is no such line."""
    begins = text.lstrip()[:1]
    if begins == "{":
        return _object(text, zone)
    if found := _SEEN.search(text):
        return LineHead(at=forms.epoch(found[1], zone), kernels=True), found[2]
    return None


def _object(text: str, zone: tzinfo | None) -> tuple[LineHead, str] | None:
    document = json_text.value(text.strip().rstrip(","))
    if not isinstance(document, dict):
        return None
    pairs = cast("dict[str, Any]", document)
    whole = dict(pairs)
    for name in _WRAPPERS:
        inside = pairs.get(name)
        if isinstance(inside, dict):
            whole = {**cast("dict[str, Any]", inside), **whole}
    message = next((found for name in _TEXTS if (found := _text(whole.get(name)))), "")
    if not message:
        return None
    outer = LineHead(
        at=_time(whole, zone),
        uptime=_uptime(whole),
        host=_host(whole),
        kernels=whole.get("_TRANSPORT") == "kernel"
        or whole.get("SYSLOG_IDENTIFIER") == "kernel"
        or "pri" in whole,
    )
    head, rest = forms.read(message.rstrip("\n"), zone)
    return head.over(outer), rest


def _text(value: object) -> str:
    if isinstance(value, list):  # the journal writes bytes that are no UTF-8 so
        numbers = cast("list[object]", value)
        if all(isinstance(one, int) and 0 <= one < 256 for one in numbers):
            return bytes(cast("list[int]", numbers)).decode("utf-8", "replace")
    return value if isinstance(value, str) else ""


def _time(pairs: dict[str, Any], zone: tzinfo | None) -> float | None:
    micro = pairs.get("__REALTIME_TIMESTAMP") or pairs.get("_SOURCE_REALTIME_TIMESTAMP")
    if _counts(micro):
        return int(micro) / 1e6
    for name in _TIMES:
        value = pairs.get(name)
        if isinstance(value, str):
            if _counts(value) and len(value) >= 10:
                return int(value) / 10.0 ** (len(value) - 10)
            if (at := forms.epoch(value, zone)) is not None:
                return at
    return None


def _uptime(pairs: dict[str, Any]) -> float | None:
    micro = pairs.get("_SOURCE_MONOTONIC_TIMESTAMP") or pairs.get("__MONOTONIC_TIMESTAMP")
    if _counts(micro):
        return int(micro) / 1e6
    seconds = pairs.get("time")
    return float(seconds) if "pri" in pairs and isinstance(seconds, int | float) else None


def _counts(value: object) -> TypeGuard[str]:
    """Return whether a value is a number of at most 19 digits, as text."""
    return isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20


def _host(pairs: dict[str, Any]) -> str:
    for name in _HOSTS:
        value = pairs.get(name)
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get("name")
        if isinstance(value, str) and value:
            return value
    return ""
