"""Markdown tables and the line that tops every generated page."""

from collections.abc import Iterable, Sequence

NOTE = "<!-- Written by `make docs`. Change the code it is written from, not this page. -->\n\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def code(text: object) -> str:
    """Return text as code, empty text as nothing."""
    return f"`{text}`" if str(text) else ""


def _line(cells: Sequence[str]) -> str:
    safe = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"
