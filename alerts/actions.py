"""What people do about incidents, as inputs of the state machine: a journal replay repeats them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from ..vocabulary.ids import IncidentId

ActionKind = Literal[
    "acknowledge",
    "resolve",
    "assign",
    "feedback",
    "withdraw",
    "silence",
    "unsilence",
    "maintenance",
    "forget",
    "profile",
    "remedy",
]
ACTION_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)


@dataclass(frozen=True, slots=True)
class PersonAction:
    """One thing that a person did.

    `incident` is None for what concerns none (silences, maintenance, `forget`: learnt priors are
    reset). `at` is in seconds since the epoch. `by` is the person, `detail` the rest, ready for
    JSON: `note`; for assign `assignee`; for feedback `verdict` (correct, wrong, unsure), `fault`
    and `entity`. `withdraw` takes the last feedback back. `profile` says that ranks were profiled
    for the incident: `detail` holds what its document shows of it. `remedy` says what the collector
    did about it, or what came of that: `note`, and the action's id.
    """

    kind: ActionKind
    incident: IncidentId | None
    at: float
    by: str
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def document(self) -> dict[str, Any]:
        """Return the action ready for JSON, as the journal keeps it."""
        return {
            "kind": self.kind,
            "incident": self.incident,
            "at": self.at,
            "by": self.by,
            "detail": dict(self.detail),
        }

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "PersonAction":
        """Return the action that a document holds. Raises ValueError."""
        try:
            kind, at, by = document["kind"], document["at"], document["by"]
        except KeyError as missing:
            raise ValueError(f"an action without {missing}") from missing
        incident, detail = document.get("incident"), document.get("detail", {})
        if kind not in ACTION_KINDS:
            raise ValueError(f"{kind!r} is not an action; there are {', '.join(ACTION_KINDS)}")
        if not isinstance(at, int | float) or not isinstance(by, str):
            raise ValueError("`at` is a number of seconds and `by` a name")  # noqa: TRY004
        if not (incident is None or isinstance(incident, str)) or not isinstance(detail, Mapping):
            raise ValueError("`incident` is an id or null and `detail` an object")
        return cls(
            kind=kind,
            incident=None if incident is None else IncidentId(incident),
            at=float(at),
            by=by,
            detail=dict(cast("Mapping[str, Any]", detail)),
        )
