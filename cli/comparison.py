"""A comparison of two replays as a person reads it: what differs, old -> new, and what counts."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..collector.replay.comparing import ReplayComparison

_SIGNS = {"new": "+", "gone": "-", "changed": "~"}


def lines(found: "ReplayComparison") -> Iterator[str]:
    """Yield a block for each incident that differs, how many there are, and what was compared."""
    from ..collector.replay import compared  # noqa: PLC0415  heavy, and only where two are compared

    for difference in found.differences:
        row = difference.document()
        incident = row["new"] or row["old"]
        yield f"{_SIGNS[row['kind']]} {incident}  job {row['job']}: {row['summary']}"
        for name, (before, after) in row["changed"].items():
            yield f"    {name}: {_shown(before)} -> {_shown(after)}"
    count = len(found.differences)
    alike = f"; {found.alike} more only in what is not compared" if found.alike else ""
    yield f"{found.before} incidents before, {found.after} after, {count} differ{alike}"
    names = [" ".join(filter(None, (name, compared.BOUNDS.get(name)))) for name in compared.FIELDS]
    yield f"compared: {', '.join(names)}; not compared: texts, evidence, scores"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "none" if value is None else str(value)
