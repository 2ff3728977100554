"""A profile as a table for a person: what a suspect does in a step that its peer does not."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import tables, terminal


def comparison(document: Mapping[str, Any]) -> list[str]:
    """Return the lines of a comparison, as an incident's document and the API show it."""
    lines = [terminal.plain(document["text"])]
    if document["rows"]:
        rows = [tables.plain(_cells(row)) for row in document["rows"]]
        head = (
            "PER SECOND" if document.get("per") == "second" else "PER STEP",
            f"RANK {document['suspect']}",
            f"RANK {document['peer']}",
            "DIFFERENCE",
        )
        lines += tables.table([head, *rows]).splitlines()
    return lines


def states(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each rank of a profile: how far it is, or why it is not."""
    return [terminal.plain(_state(row)) for row in rows]


def _state(row: Mapping[str, Any]) -> str:
    head = f"rank {row['rank']} ({row['role']}) on {row['host'] or 'an unknown host'}"
    if row["status"] == "complete":
        return f"{head}: {row['steps']} steps in {row['seconds']:.3g} s, {row['bytes']} bytes"
    return f"{head}: {row['status']}" + (f", {row['text']}" if row["text"] else "")


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"  {row['kind']}: {row['name']}" if row["name"] else row["kind"]
    return (name, *(_amount(row[who]) for who in ("suspect", "peer")), _more(row))


def _amount(row: Mapping[str, Any]) -> str:
    return f"{row['seconds'] * 1e3:.3f} ms x{row['count']:.4g}"


def _more(row: Mapping[str, Any]) -> str:
    return f"{row['difference_seconds'] * 1e3:+.3f} ms"
