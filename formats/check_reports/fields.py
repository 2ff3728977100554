"""Values of foreign JSON, taken with the form that they should have."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import TornReportError

LONGEST = 300
"""Characters of what a tool says that are kept."""


def rows(holder: Mapping[str, Any], key: str, where: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, none where it is missing; holes in it are left out.

    Raises TornReportError where something else stands there.
    """
    held = holder.get(key)
    if held is None:
        return
    if not isinstance(held, list):
        raise TornReportError(f"{where}: {key} is no list")
    for place, row in enumerate(held):
        if row is None:
            continue
        if not isinstance(row, dict):
            raise TornReportError(f"{where}: {key}[{place}] is no object")
        yield row


def text(value: object) -> str:
    """Return a text of one line and a bounded length, "" for what is none."""
    return " ".join(value.split())[:LONGEST] if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """Return a finite number, None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
