"""What of an incident counts when two replays are compared: what a person would be shown or sent.

Times, names and lists count whenever they differ. Numbers that move a little with every window
count from a bound on. Texts, evidence, scores and causes of a few percent do not count.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from .replayed import ReplayNotice

Document = Mapping[str, Any]

PROBABILITY = 0.05
"""Of the first cause: five points. Other causes are compared where they have as much."""
SLOWDOWN = 0.02
"""Two percent of a step."""
GPU_SECONDS_LOST = 0.1
"""A tenth of the larger one."""

BOUNDS = {
    "probability": f"from {PROBABILITY} on",
    "slowdown": f"from {SLOWDOWN} on",
    "gpu_seconds_lost": f"from {100 * GPU_SECONDS_LOST:g} % on",
}
FIELDS = (
    "jobs",
    "severity",
    "status",
    "symptoms",
    "fault",
    "entity",
    "confidence",
    "cause_status",
    "other_causes",
    "cause_history",
    "cause_since",
    "opened_at",
    "detected_at",
    "notified_at",
    "notices",
    "resolved_at",
    *BOUNDS,
)


def changed(
    old: Document,
    new: Document,
    *,
    notices: tuple[Sequence[ReplayNotice], Sequence[ReplayNotice]] = ((), ()),
) -> dict[str, tuple[Any, Any]]:
    """Return what counts and is not the same, by name: (old, new).

    `notices` are those of each, in order of time.
    """
    before, after = _compared(old, notices[0]), _compared(new, notices[1])
    return {
        name: (before[name], after[name])
        for name in FIELDS
        if _differs(name, before[name], after[name])
    }


def _compared(document: Document, notices: Sequence[ReplayNotice]) -> dict[str, Any]:
    first, *others = document["root_cause"]["hypotheses"]
    history = [(_cause(row), row["at"]) for row in document["cause_history"]]
    # A cause that became stable is the same cause still.
    starts = history[:1] + [new for old, new in pairwise(history) if old[0] != new[0]]
    return {
        "jobs": document["jobs"],
        "severity": document["severity"],
        "status": document["status"],
        "symptoms": [row["kind"] for row in document["symptoms"]],
        "fault": first["fault"],
        "entity": _entity(first),
        "confidence": first["confidence"],
        "cause_status": document["root_cause"]["status"],
        "other_causes": [
            _cause(row)
            for row in others
            if row["probability"] is not None and row["probability"] >= PROBABILITY
        ],
        "cause_history": [cause for cause, _ in starts],
        "cause_since": starts[-1][1] if starts else None,
        "opened_at": document["opened_at"],
        "detected_at": document["detected_at"],
        "notified_at": notices[0].time if notices else None,
        "notices": [f"{row.kind} {row.severity}" for row in notices],
        "resolved_at": document["resolved_at"],
        "probability": first["probability"],
        "slowdown": document["impact"]["slowdown"],
        "gpu_seconds_lost": document["impact"]["gpu_seconds_lost"],
    }


def _differs(name: str, old: Any, new: Any) -> bool:
    if old is None or new is None or name not in BOUNDS:
        return bool(old != new)
    if name == "gpu_seconds_lost":
        return bool(abs(old - new) >= GPU_SECONDS_LOST * max(old, new) > 0)
    return bool(abs(old - new) >= (PROBABILITY if name == "probability" else SLOWDOWN))


def _cause(row: Mapping[str, Any]) -> str:
    return f"{row['fault']} ({_entity(row)})"


def _entity(row: Mapping[str, Any]) -> str:
    return f"{row['entity']['type']} {row['entity']['id']}"
