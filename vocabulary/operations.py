"""Single collectives of one rank on the wire: the text of a `collective.operations` event.

A JSON list of rows [op, sequence, size, enqueued_at, completed_at, seconds]; size in bytes,
times in seconds since the epoch, null where nobody knows.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

EVENT = "collective.operations"
MOST = 128
"""Operations of one event."""

LONGEST = 32 << 10
"""Bytes of a text of MOST operations; they are read when it arrives, and the text is let go."""

_LONGEST = 64


@dataclass(frozen=True, slots=True)
class MemberOperation:
    """One collective as one member saw it; `sequence` is its number in the group, and kind."""

    op: str
    sequence: int
    size: int | None = None
    enqueued_at: float | None = None
    completed_at: float | None = None
    seconds: float | None = None


def encode(operations: Sequence[MemberOperation]) -> str:
    """Return the text of the newest operations, at most MOST."""
    rows = [
        [one.op[:_LONGEST], one.sequence, one.size, one.enqueued_at, one.completed_at, one.seconds]
        for one in operations[-MOST:]
    ]
    return json.dumps(rows, separators=(",", ":"))


def decode(text: str) -> list[MemberOperation]:
    """Return the operations of a text; raises ValueError where it is none."""
    try:
        rows: Any = json.loads(text)
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not isinstance(rows, list) or len(rows) > MOST:
        raise ValueError("no list of operations")
    return [_operation(row) for row in rows]


def _operation(row: Any) -> MemberOperation:
    match row:
        case [str() as op, int() as sequence, size, *times] if len(times) == 3 and sequence >= 0:
            whole = _number(size)
            return MemberOperation(
                op[:_LONGEST],
                min(sequence, 1 << 62),
                None if whole is None else int(whole),
                *map(_number, times),
            )
    raise ValueError("no operation")


def _number(value: Any) -> float | None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if plain and 0 <= value < 1e18 and math.isfinite(value) else None
