"""What two configurations make of one recording: which incidents only one has, which differ.

Incidents have equal ids in both where job, first symptom and onset are equal; where only the onset
moved, those of one job and symptom that overlap in time are taken for one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]

_COMPARED = ("severity", "status", "fault", "entity", "opened_at", "detected_at", "resolved_at")


@dataclass(frozen=True, slots=True)
class Difference:
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


def differences(old: Sequence[Document], new: Sequence[Document]) -> list[Difference]:
    """Return what differs between the incidents of two replays, in order of time."""
    found = [
        Difference(one, other, changed)
        for one, other in _pairs(old, new)
        if (changed := _changed(one, other)) or one is None or other is None
    ]
    return sorted(found, key=lambda row: str((row.old or row.new or {})["opened_at"]))


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


def _changed(old: Document | None, new: Document | None) -> dict[str, tuple[Any, Any]]:
    if old is None or new is None:
        return {}
    before, after = _compared(old), _compared(new)
    return {name: (before[name], after[name]) for name in _COMPARED if before[name] != after[name]}


def _compared(document: Document) -> dict[str, Any]:
    first = document["root_cause"]["hypotheses"][0]
    entity = first["entity"]
    return {
        **{name: document.get(name) for name in _COMPARED},
        "fault": first["fault"],
        "entity": f"{entity['type']} {entity['id']}",
    }
