"""Files in which a log is one JSON value: what Grafana and Loki's API give to keep.

`[{"line": ..., "timestamp": ...}, ...]`, newest first as a rule, and
`{"data": {"result": [{"values": [["<ns>", "<line>"], ...]}]}}`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from .. import json_text

_MOST_BYTES = 256 << 20
_HEAD = 400
_BEGINS = re.compile(rb"\[\s*(?:\{|$)")


def lines(opened: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file as a log has them, oldest first where the file is such an export.

    A file that is not one, or too large to be held, is yielded as it is.
    """
    yield from held(opened) or opened


def held(opened: IO[bytes]) -> list[bytes]:
    """Return the lines that such an export holds, oldest first; none of any other file.

    The file stands at its beginning afterwards.
    """
    head = opened.read(_HEAD).lstrip(b"\xef\xbb\xbf \r\n\t")
    opened.seek(0)
    if not _BEGINS.match(head) and not (head.startswith(b"{") and b'"result"' in head):
        return []
    data = opened.read(_MOST_BYTES + 1)
    opened.seek(0)
    entries = _entries(data) if len(data) <= _MOST_BYTES else []
    return [json.dumps(entry).encode() + b"\n" for entry in sorted(entries, key=_time)]


def _entries(data: bytes) -> list[Mapping[str, Any]]:
    value = json_text.value(data)
    if isinstance(value, list):
        return [one for one in value if isinstance(one, Mapping)]
    return [
        {"timestamp": pair[0], "line": pair[1]}
        for stream in _list(_under(value, "data"), "result")
        for pair in _list(stream, "values")
        if isinstance(pair, list) and len(pair) > 1
    ]


def _under(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: object, key: str) -> list[Any]:
    found = _under(value, key)
    return found if isinstance(found, list) else []


def _time(entry: Mapping[str, Any]) -> str:
    """Return what orders entries: all of one file write their times alike."""
    return str(entry.get("timestamp") or entry.get("time") or entry.get("date") or "")
