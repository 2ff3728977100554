"""What two configurations make of one recording: which incidents only one has, which differ.

Incidents have equal ids in both where job, first symptom and onset are equal; where only the onset
moved, those of one job and symptom that overlap in time are taken for one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import compared
from .compared import Document
from .replayed import ReplayNotice


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """What one replay gave: the incidents, and by their ids the notices of each."""

    incidents: Sequence[dict[str, Any]]
    notices: Mapping[str, Sequence[ReplayNotice]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncidentDifference:
    """One incident that is not the same: only in the first (`new` None), the second, or changed.

    changed: by name of what differs, its value in (old, new).
    """

    old: Document | None
    new: Document | None
    changed: Mapping[str, tuple[Any, Any]]

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        either = self.new or self.old or {}
        return {
            "kind": "changed" if self.old and self.new else "new" if self.new else "gone",
            "job": either["job"],
            "old": self.old and self.old["id"],
            "new": self.new and self.new["id"],
            "summary": either["summary"],
            "changed": {name: list(pair) for name, pair in self.changed.items()},
        }


@dataclass(frozen=True, slots=True)
class ReplayComparison:
    """What differs between two replays, in order of time.

    alike: incidents that only differ in what does not count (see compared.py).
    """

    before: int
    after: int
    differences: tuple[IncidentDifference, ...]
    alike: int

    def document(self) -> dict[str, Any]:
        """Return how much it is, as JSON has it: the last line, also where nothing differs."""
        return {
            "kind": "summary",
            "before": self.before,
            "after": self.after,
            "differ": len(self.differences),
            "alike": self.alike,
            "compared": list(compared.FIELDS),
        }


def compare(old: ReplayOutcome, new: ReplayOutcome) -> ReplayComparison:
    """Return what differs between two replays of one recording."""
    found: list[IncidentDifference] = []
    alike = 0
    for one, other in _pairs(old.incidents, new.incidents):
        if one is None or other is None:
            found.append(IncidentDifference(one, other, {}))
            continue
        notices = old.notices.get(one["id"], ()), new.notices.get(other["id"], ())
        if changed := compared.changed(one, other, notices=notices):
            found.append(IncidentDifference(one, other, changed))
        elif one != other:
            alike += 1
    found.sort(key=lambda row: str((row.old or row.new or {})["opened_at"]))
    return ReplayComparison(len(old.incidents), len(new.incidents), tuple(found), alike)


def _pairs(
    old: Sequence[Document], new: Sequence[Document]
) -> Iterator[tuple[Document | None, Document | None]]:
    left = {row["id"]: row for row in new}
    alone = []
    for row in old:
        same = left.pop(row["id"], None)
        if same is None:
            alone.append(row)
        else:
            yield row, same
    for row in alone:
        near = next((other for other in left.values() if _overlap(row, other)), None)
        if near is not None:
            del left[near["id"]]
        yield row, near
    for row in left.values():
        yield None, row


def _overlap(one: Document, other: Document) -> bool:
    if one["job"] != other["job"] or one["symptoms"][0]["kind"] != other["symptoms"][0]["kind"]:
        return False
    first_ends, second_ends = (row["resolved_at"] or "9999" for row in (one, other))
    return bool(one["opened_at"] <= second_ends and other["opened_at"] <= first_ends)
