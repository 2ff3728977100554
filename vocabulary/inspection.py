"""What was looked into for an incident: stacks of its ranks, profiles of a suspect and a peer."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Annotated, Any, Literal

from .entities import WrittenRanks
from .shapes import Count, DocumentShape, FieldPresence, Figure, JsonType, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class StackGroup(DocumentShape):
    """Ranks with the same Python stack while nothing goes on; `odd`: most others stand elsewhere.

    `text` has a line a call, the outermost first; `count` is how many ranks there are.
    """

    ranks: WrittenRanks
    count: Annotated[int, JsonType({"minimum": 1})] = field(init=False)
    odd: bool = False
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.ranks))


@dataclass(frozen=True, slots=True)
class ProfileAmount(DocumentShape):
    """How often in a step, and for how many seconds of it."""

    count: Figure
    seconds: Figure


@dataclass(frozen=True, slots=True)
class ProfileRow(DocumentShape):
    """One line of a profile's table, per step; `name` is "" for all of a kind."""

    kind: str
    name: str
    suspect: ProfileAmount
    peer: ProfileAmount
    difference_seconds: Figure = field(init=False)

    def __post_init__(self) -> None:
        more = self.suspect.seconds - self.peer.seconds
        object.__setattr__(self, "difference_seconds", more)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentProfile(DocumentShape):
    """A profile of a suspect and a healthy peer; `traces` are paths of this API.

    `per`: what the figures are of: step, or second where a trace does not count steps.
    """

    at: Time
    id: str
    text: str
    per: Annotated[Literal["step", "second"], FieldPresence.OPTIONAL] = "step"
    suspect: Count | None = None
    peer: Count | None = None
    rows: tuple[ProfileRow, ...] = ()
    traces: tuple[str, ...] = ()
    """One a rank that sent a trace."""

    def detail(self) -> dict[str, Any]:
        """Return what an action carries, all but its time."""
        rows = [
            [row.kind, row.name, *astuple(row.suspect), *astuple(row.peer)] for row in self.rows
        ]
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
    def parse(cls, at: float, detail: Mapping[str, Any]) -> "IncidentProfile":
        """Return what an action carries; what is missing is left empty."""
        return cls(
            at=at,
            id=str(detail.get("id", "")),
            text=str(detail.get("text", "")),
            suspect=detail.get("suspect"),
            peer=detail.get("peer"),
            rows=tuple(
                ProfileRow(str(kind), str(name), ProfileAmount(*suspect), ProfileAmount(*peer))
                for kind, name, *figures in detail.get("rows", ())
                for suspect, peer in [(figures[:2], figures[2:])]
            ),
            traces=tuple(map(str, detail.get("traces", ()))),
            per="second" if detail.get("per") == "second" else "step",
        )
