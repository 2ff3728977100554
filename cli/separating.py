"""The one check that tells an incident's causes apart: chosen, run, and what it changed."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..checks import choosing
from ..checks.choosing import ChosenCheck
from ..checks.judging import JudgedCheck
from ..vocabulary.checks import runnable
from .asking import CollectorAnswerError, CollectorClient

_SETTLE_SECONDS = 12.0
"""How long the incident's next ranking is waited for; it is made every second."""
_PAUSE_SECONDS = 1.0


class NothingToCheckError(Exception):
    """No check at this host says anything about an incident; the text says why, and where one does.

    `elsewhere`: one does at another host.
    """

    def __init__(self, text: str, *, elsewhere: bool = False) -> None:
        super().__init__(text)
        self.elsewhere = elsewhere


@dataclass(frozen=True, slots=True)
class LeadingCause:
    """The first cause of an incident at one moment."""

    fault: str
    entity: str
    probability: float | None

    def document(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return {"fault": self.fault, "entity": self.entity, "probability": self.probability}

    def __str__(self) -> str:
        chance = "" if self.probability is None else f" ({self.probability:.0%})"
        return f"{self.fault} at {self.entity}{chance}"


def candidates(
    collector: CollectorClient, document: Mapping[str, Any], *, host: str, with_peer: bool
) -> list[ChosenCheck]:
    """Return the checks worth running here, the best first.

    Raises NothingToCheckError and CollectorAnswerError.
    """
    causes = choosing.suspected(document)
    where = choosing.hosts(document, [host])
    if where and host not in where:
        raise NothingToCheckError(
            f"its causes are at {', '.join(where[:5])}, and this host is {host}: run it there, or "
            "say what this host is called (--host NAME)",
            elsewhere=True,
        )
    rows = collector.every("checks", incident=document["id"], limit=200)
    past = {row["check"] for row in rows if row["verdict"] != "not_measured"}
    devices = len(list(Path("/dev").glob("nvidia[0-9]*")))
    there = {
        "nothing": True,
        "accelerators": devices > 0,
        "peer": with_peer,
        "ranks": True,
    }
    left_out = {row.name for row in runnable().values() if not there[row.needs]}
    found = choosing.ranked(causes, host=host, devices=devices, past=past | left_out)
    if not found:
        again = f" that was not run yet ({', '.join(sorted(past))})" if past else ""
        raise NothingToCheckError(f"no check{again} tells its causes apart at this host")
    return found


def leading(document: Mapping[str, Any]) -> LeadingCause:
    """Return the first cause of an incident document."""
    first = document["root_cause"]["hypotheses"][0]
    entity = first["entity"]
    return LeadingCause(first["fault"], f"{entity['type']} {entity['id']}", first["probability"])


def ranked_again(
    collector: CollectorClient,
    document: Mapping[str, Any],
    results: Sequence[JudgedCheck],
    *,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Return the incident once it has the result, or as it is after a while."""
    identity, now = document["id"], dict(document)
    wanted = {row.check for row in results}
    rounds = 0 if document["resolved_at"] else int(_SETTLE_SECONDS / _PAUSE_SECONDS)
    for _ in range(rounds):
        pause(_PAUSE_SECONDS)
        try:
            now = collector.get("incidents", identity)
        except CollectorAnswerError:
            break
        if any(f"check {name}" in row["text"] for row in _new(document, now) for name in wanted):
            break
    return now


def _new(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = len(before.get("timeline", ()))
    rows: list[Mapping[str, Any]] = list(now.get("timeline", ()))
    return rows[held:]
