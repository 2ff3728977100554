"""What people did about an incident, as its document shows it."""

from dataclasses import dataclass
from typing import Any, Literal

from .times import rfc3339


@dataclass(frozen=True, slots=True)
class Handled:
    """Something that a person did, and when (seconds since the epoch)."""

    at: float
    by: str
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {"at": rfc3339(self.at), "by": self.by, "note": self.note}


@dataclass(frozen=True, slots=True)
class Feedback:
    """Whether the first cause was right; `fault` and `entity` are what it really was."""

    at: float
    by: str
    verdict: Literal["correct", "wrong", "unsure"]
    fault: str | None = None
    entity: str | None = None
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "at": rfc3339(self.at),
            "by": self.by,
            "verdict": self.verdict,
            "fault": self.fault,
            "entity": self.entity,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Handling:
    """What people did about an incident."""

    acknowledged: Handled | None = None
    assignee: str | None = None
    resolved: Handled | None = None
    feedback: tuple[Feedback, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "acknowledged": None if self.acknowledged is None else self.acknowledged.document(),
            "assignee": self.assignee,
            "resolved": None if self.resolved is None else self.resolved.document(),
            "feedback": [row.document() for row in self.feedback],
        }
