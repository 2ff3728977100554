"""Rows of the API on a terminal: a table, or one JSON object a line."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import terminal

Row = Mapping[str, Any]


def show(
    rows: Sequence[Row],
    head: Sequence[str],
    cells: Callable[[Row], Sequence[str]],
    *,
    as_json: bool,
    nothing: str,
) -> None:
    """Print rows: as a table below `head`, `nothing` where there are none, or as JSON lines."""
    if as_json:
        for row in rows:
            print(terminal.json_line(row))
    elif rows:
        print(table([head, *(plain(cells(row)) for row in rows)]))
    else:
        print(nothing)


def plain(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a row with no control character in them."""
    return tuple(terminal.plain(text) for text in texts)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of text as aligned columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """Return a figure with its interval as a cell, "-" where it is not known."""
    if value is None or low is None or high is None:
        return "-"
    return f"{value:.2f} ({low:.2f} - {high:.2f})"


def moment(at: str) -> str:
    """Return an RFC 3339 time as a cell: to the second, in its own zone."""
    return at.replace("T", " ")[:19]
