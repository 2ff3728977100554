"""The answer to a range query, taken apart without parsing what every poll repeats: labels.

Stores write a series as `{"metric":{...},"values":[[time,"value"],...]}`, and its labels with the
same bytes each time, so those bytes stand for the series. A quote within a JSON string is escaped:
what is searched for here never lies within one. An answer that is written in any other way, with
spaces for instance, is parsed whole and brought into this form.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_RESULT, _METRIC, _VALUES, _END = b'"result":[', b'{"metric":', b',"values":[[', b"]]}"


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """Rows of an answer: the JSON of each one's labels, and of its samples within `[[` and `]]`.

    `malformed` counts rows that are no series with samples.
    """

    labels: Sequence[bytes]
    values: Sequence[bytes]
    malformed: int = 0


def split(body: bytes) -> tuple[Any, MatrixRows | None]:
    """Return the JSON of an answer, the rows of a usual one left out, and its rows.

    These are None where it has no result. Raises ValueError for what is not JSON.
    """
    head, *pieces = body.split(_METRIC)
    if not pieces or not head.endswith(_RESULT):
        return _parsed(body)
    text, mark, rest = pieces[-1].partition(_VALUES)  # labels may hold what ends a row
    samples, end, tail = rest.partition(_END)
    pieces[-1] = text + mark + samples + end + b","
    labels: list[bytes] = []
    values: list[bytes] = []
    for piece in pieces:
        text, _, samples = piece.partition(_VALUES)
        if not samples.endswith(b"]]},") or samples.find(b"]]") != len(samples) - 4:
            return _parsed(body)
        labels.append(text)
        values.append(samples[:-4])
    try:
        return json.loads(head + tail), MatrixRows(labels, values)
    except ValueError:
        return _parsed(body)


def samples(values: bytes, after_ms: int, times: dict[bytes, int]) -> tuple[list[int], list[float]]:
    """Return times (ms) and values of the samples of a row after a time.

    `times` keeps the times that were read: those of a target's series are the same. Raises
    ValueError or TypeError for what is no list of samples.
    """
    found_ms: list[int] = []
    found: list[float] = []
    for one in values.split(b"],["):
        at, _, value = one.partition(b',"')
        at_ms = times.get(at)
        if at_ms is None:
            at_ms = times[at] = round(json.loads(at) * 1000)
        if at_ms > after_ms:
            if not value.endswith(b'"'):
                raise ValueError("a value is not a string")
            found_ms.append(at_ms)
            found.append(float(value[:-1]))
    return found_ms, found


def _parsed(body: bytes) -> tuple[Any, MatrixRows | None]:
    found = json.loads(body)
    data = found.get("data") if isinstance(found, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        return found, None
    labels: list[bytes] = []
    values: list[bytes] = []
    for row in result:
        try:
            pair = _compact(row["metric"]), _compact([[at, str(one)] for at, one in row["values"]])
        except (KeyError, TypeError, ValueError):
            continue
        labels.append(pair[0])
        values.append(pair[1][2:-2])
    return found, MatrixRows(labels, values, len(result) - len(labels))


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
