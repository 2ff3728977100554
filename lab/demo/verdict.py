"""Whether an incident's first cause is what was injected, where it was injected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class InjectedTruth:
    """What was injected. `ids`: of the entity at fault, one of them; `host` None: of no host."""

    faults: tuple[str, ...]
    type: str
    ids: tuple[str, ...]
    host: str | None = None

    @property
    def text(self) -> str:
        """Return it in words."""
        place = f"{self.type} {' or '.join(self.ids)}"
        on = f" on {self.host}" if self.host and self.type != "host" else ""
        return f"{self.faults[0]} at {place}{on}"


@dataclass(frozen=True, slots=True)
class AnswerVerdict:
    """The answer compared with the truth, and the words for it."""

    right: bool
    text: str


def evaluate(document: Mapping[str, Any], truth: InjectedTruth) -> AnswerVerdict:
    """Compare the first hypothesis with the fault and its entity."""
    hypotheses = document["root_cause"]["hypotheses"]
    if not hypotheses:
        right = "unknown" in truth.faults
        said = "RIGHT: no cause was named" if right else "WRONG: no cause was named"
        return AnswerVerdict(right, f"{said}; it was {truth.text}")
    first = hypotheses[0]
    entity = first["entity"]
    named = first["fault"] in truth.faults
    placed = _placed(entity, truth)
    answer = f"{first['fault']} at {entity['type']} {entity['id']}"
    if named and placed:
        return AnswerVerdict(True, f"RIGHT: the first cause is {answer}, as injected")
    return AnswerVerdict(False, f"WRONG: the first cause is {answer}; it was {truth.text}")


def observed(
    row: Mapping[str, Any], incidents: Sequence[Mapping[str, Any]], truth: InjectedTruth
) -> AnswerVerdict:
    """Tell whether an observation is at the entity at fault, and no incident above info is."""
    if incidents:
        text = f"WRONG: {truth.text} costs nothing, and there is an incident: "
        return AnswerVerdict(False, f"{text}{incidents[0]['summary']}")
    entity = row["entity"]
    place = f"{entity['type']} {entity['id']}"
    if _placed(entity, truth):
        return AnswerVerdict(True, f"RIGHT: it is an observation at {place}, as injected")
    return AnswerVerdict(False, f"WRONG: the observation is at {place}; it was {truth.text}")


def _placed(entity: Mapping[str, Any], truth: InjectedTruth) -> bool:
    return (
        entity["type"] == truth.type
        and entity["id"] in truth.ids
        and truth.host in (None, entity["host"])
    )


def unrelated(documents: Sequence[Mapping[str, Any]], incident_id: str | None) -> Sequence[str]:
    """Return the other incidents above info, in words."""
    return [
        f"{row['severity']}: {row['summary']}"
        for row in documents
        if row["id"] != incident_id and row["severity"] != "info"
    ]
