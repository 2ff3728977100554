"""What was looked into for an incident: stacks of its ranks, profiles of a suspect and a peer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .ranks import Ranks
from .rounding import number
from .times import rfc3339


@dataclass(frozen=True, slots=True)
class StackGroup:
    """Ranks whose Python stacks are the same while nothing goes on, one line a call.

    `text` has the outermost call first. `odd`: most other ranks stand elsewhere; these are what
    to look at.
    """

    ranks: Ranks
    text: str
    odd: bool = False

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "ranks": self.ranks.document(),
            "count": len(self.ranks),
            "odd": self.odd,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One line of a profile's table, per step (or second); `name` is "" for all of a kind.

    `suspect` and `peer` are (how often, seconds).
    """

    kind: str
    name: str
    suspect: tuple[float, float]
    peer: tuple[float, float]

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "kind": self.kind,
            "name": self.name,
            "suspect": {"count": number(self.suspect[0]), "seconds": number(self.suspect[1])},
            "peer": {"count": number(self.peer[0]), "seconds": number(self.peer[1])},
            "difference_seconds": number(self.suspect[1] - self.peer[1]),
        }


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile of a suspect beside a healthy peer, made for an incident.

    `traces` are paths of the collector's API, one a rank that sent a trace. `per`: what the figures
    are of, a step or a second.
    """

    at: float
    id: str
    text: str
    suspect: int | None
    peer: int | None
    rows: tuple[ProfileRow, ...] = ()
    traces: tuple[str, ...] = ()
    per: str = "step"

    def document(self) -> dict[str, Any]:
        """Return it as the incident document shows it."""
        return {
            "at": rfc3339(self.at),
            "id": self.id,
            "text": self.text,
            "per": self.per,
            "suspect": self.suspect,
            "peer": self.peer,
            "rows": [row.document() for row in self.rows],
            "traces": list(self.traces),
        }

    def detail(self) -> dict[str, Any]:
        """Return what an action carries, all but its time."""
        rows = [[row.kind, row.name, *row.suspect, *row.peer] for row in self.rows]
        return {
            "id": self.id,
            "text": self.text,
            "suspect": self.suspect,
            "peer": self.peer,
            "rows": rows,
            "traces": list(self.traces),
            "per": self.per,
        }

    @classmethod
    def parse(cls, at: float, detail: Mapping[str, Any]) -> "Profiled":
        """Return what an action carries; what is missing is left empty."""
        return cls(
            at=at,
            id=str(detail.get("id", "")),
            text=str(detail.get("text", "")),
            suspect=detail.get("suspect"),
            peer=detail.get("peer"),
            rows=tuple(
                ProfileRow(str(kind), str(name), (count, seconds), (others, other))
                for kind, name, count, seconds, others, other in detail.get("rows", ())
            ),
            traces=tuple(map(str, detail.get("traces", ()))),
            per="second" if detail.get("per") == "second" else "step",
        )
