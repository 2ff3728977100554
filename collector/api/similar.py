"""Past incidents that are like one: the same fault, entity, host or job, symptoms and evidence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...vocabulary import faults
from ..store.costs import IncidentCosts

MOST_READ = 100
"""Candidates whose documents are compared."""
LEAST = 2.0
"""Points below which nothing is called similar."""

_FAULT, _ENTITY, _HOST, _JOB, _SYMPTOMS, _EVIDENCE = 3.0, 3.0, 1.5, 1.0, 1.0, 2.0


@dataclass(frozen=True, slots=True)
class IncidentLikeness:
    """A past incident, how like it is (points), and in what."""

    document: Mapping[str, Any]
    points: float
    reasons: tuple[str, ...]


def similar(
    document: Mapping[str, Any],
    rows: Iterable[IncidentCosts],
    find: Callable[[str], Mapping[str, Any] | None],
) -> list[IncidentLikeness]:
    """Return the incidents with an earlier onset that are like one, the most alike first.

    `rows` are those that may be seen, `find` gives the document of one by its id.
    """
    ranked = sorted(
        ((_of_row(document, row), row) for row in rows if row.id != document["id"]),
        key=lambda pair: (-pair[0], -pair[1].opened_at, pair[1].id),
    )
    found: list[IncidentLikeness] = []
    for points, row in ranked[:MOST_READ]:
        other = find(row.id) if points > 0 else None
        if other is None or other["opened_at"] > document["opened_at"]:
            continue
        likeness = _compared(document, other)
        if likeness.points >= LEAST:
            found.append(likeness)
    return sorted(found, key=lambda one: -one.points)


def _of_row(document: Mapping[str, Any], row: IncidentCosts) -> float:
    """Return points for what is known of an incident without its document."""
    first = _first(document)
    points: float = _JOB if document["job"] is not None and document["job"] in row.jobs else 0.0
    if first is None:
        return points + float(row.fault == faults.UNKNOWN)
    points += _FAULT if row.fault == first["fault"] else 0.0
    if row.root is not None:
        entity = first["entity"]
        root = {"type": row.root.type, "id": row.root.id, "host": row.root.host}
        points += _ENTITY if _same(entity, root) else 0.0
        points += _HOST if entity["host"] and row.root.host == entity["host"] else 0.0
    return points


def _compared(document: Mapping[str, Any], other: Mapping[str, Any]) -> IncidentLikeness:
    points, reasons = 0.0, []
    mine, its = _first(document), _first(other)
    if mine is not None and its is not None:
        if mine["fault"] == its["fault"] != faults.UNKNOWN:
            points += _FAULT
            reasons.append("same cause")
        at, there = mine["entity"], its["entity"]
        if _same(at, there):
            points += _ENTITY
            reasons.append(f"same {at['type']}")
        elif at["host"] is not None and at["host"] == there["host"]:
            points += _HOST
            reasons.append("same host")
        shared = _overlap(_signals(mine), _signals(its))
        points += _EVIDENCE * shared
        if shared >= 0.5:
            reasons.append("same evidence")
    if document["job"] is not None and document["job"] in other["jobs"]:
        points += _JOB
        reasons.append("same job")
    shown = _overlap(_kinds(document), _kinds(other))
    points += _SYMPTOMS * shown
    if shown >= 0.5:
        reasons.append("same symptoms")
    return IncidentLikeness(other, points, tuple(reasons))


def _same(entity: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether two are one thing: rank 3 of one job is not that of another."""
    ids = (entity["type"], entity["id"]) == (other["type"], other["id"])
    return ids and bool(entity["type"] != "rank" or entity["host"] == other["host"])


def _first(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    causes = document["root_cause"]["hypotheses"]
    return causes[0] if causes else None


def _signals(hypothesis: Mapping[str, Any]) -> set[str]:
    return {
        row["signal"]
        for row in hypothesis["evidence"]
        if row["relation"] == "supports" and row["family"] not in ("prior", "time", "scope")
    }


def _kinds(document: Mapping[str, Any]) -> set[str]:
    return {row["kind"] for row in document["symptoms"]}


def _overlap(mine: set[str], its: set[str]) -> float:
    """Return the share of both that is common to both."""
    return len(mine & its) / len(mine | its) if mine | its else 0.0
