"""Whether an incident's first cause is what was injected, where it was injected."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer compared with the truth, and the words for it."""

    right: bool
    text: str


def evaluate(document: Mapping[str, Any], *, fault: str, host: str, rank: int | None) -> Verdict:
    """Compare the first hypothesis with the fault and its place; `rank` None: the host itself."""
    place = f"host {host}" if rank is None else f"rank {rank} on {host}"
    hypotheses = document["root_cause"]["hypotheses"]
    if not hypotheses:
        return Verdict(False, f"WRONG: no cause was named; it was {fault} at {place}")
    first = hypotheses[0]
    entity = first["entity"]
    expected = ("host", host) if rank is None else ("rank", str(rank))
    named = first["fault"] == fault
    placed = (entity["type"], entity["id"]) == expected and entity["host"] == host
    answer = f"{first['fault']} at {entity['type']} {entity['id']}"
    if named and placed:
        return Verdict(True, f"RIGHT: the first cause is {fault} at {place}, as injected")
    return Verdict(False, f"WRONG: the first cause is {answer}; it was {fault} at {place}")
