"""An incident's document as it is kept and as it is shown, with what people did.

The state machine's document is never edited, and says itself what people did. Only what they did
about an incident that the machine had given up lies over it: status, `handling`, entries of the
timeline. `confirmed` stands where somebody said that the first cause was right.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.times import parse, rfc3339


@dataclass(frozen=True, slots=True)
class HandlingAction:
    """One thing a person did: kind is ack, assign, resolve, feedback or withdraw.

    `settled`: the state machine took it, so the document says what it did.
    """

    kind: str
    at: float
    author: str
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    settled: bool = False


def written(document: Mapping[str, Any]) -> str:
    """Return a document as it is kept: the same text for the same document."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def digest(text: str) -> str:
    """Return the fingerprint of a document as it is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def status(machine: str, actions: Sequence[HandlingAction]) -> str:
    """Return the status that people see: the machine's, unless it did not take what they did."""
    kinds = {action.kind for action in actions if not action.settled}
    if machine == "resolved" or "resolve" in kinds:
        return "resolved"
    return "acknowledged" if "ack" in kinds or machine == "acknowledged" else "open"


def shown(document: Mapping[str, Any], actions: Sequence[HandlingAction]) -> dict[str, Any]:
    """Return the machine's document; what people did that it did not take is laid over it."""
    over = [action for action in actions if not action.settled]
    held = document.get("handling") or {}
    first = {kind: next((row for row in over if row.kind == kind), None) for kind in _ONCE}
    assigned = [row.details["assignee"] for row in over if row.kind == "assign"]
    feedback = _rated(held.get("feedback", ()), over)
    laid = dict(document)
    laid["status"] = status(document["status"], over)
    if first["resolve"]:
        resolved_at = [rfc3339(first["resolve"].at)]
        resolved_at += [document["resolved_at"]] if document["resolved_at"] else []
        laid["resolved_at"] = min(resolved_at)
    if over:
        laid["updated_at"] = max(document["updated_at"], *(rfc3339(row.at) for row in over))
        laid["timeline"] = sorted(
            [
                *document["timeline"],
                *(row for row in map(_moment, over) if row not in document["timeline"]),
            ],
            key=lambda row: parse(row["at"]),
        )
    if feedback and feedback[-1]["verdict"] == "correct":
        laid["root_cause"] = {**document["root_cause"], "status": "confirmed"}
    elif document["root_cause"]["status"] == "confirmed":
        laid["root_cause"] = {**document["root_cause"], "status": "stable"}
    laid["handling"] = {
        "acknowledged": held.get("acknowledged") or _brief(first["ack"]),
        "assignee": assigned[-1] if assigned else held.get("assignee"),
        "resolved": held.get("resolved") or _brief(first["resolve"]),
        "feedback": feedback,
    }
    return laid


def _rated(
    held: Sequence[Mapping[str, Any]], over: Sequence[HandlingAction]
) -> list[Mapping[str, Any]]:
    """Return all feedback in order of time, whoever took it, once, without what was withdrawn."""
    rows: list[tuple[float, Mapping[str, Any] | None]] = [(parse(row["at"]), row) for row in held]
    given_later = (_feedback(row) for row in over if row.kind == "feedback")
    rows += [(parse(row["at"]), row) for row in given_later if row not in held]
    rows += [(row.at, None) for row in over if row.kind == "withdraw"]
    feedback: list[Mapping[str, Any]] = []
    for _, given in sorted(rows, key=lambda pair: pair[0]):
        if given is None:
            del feedback[-1:]
        else:
            feedback.append(given)
    return feedback


_ONCE = ("ack", "resolve")
_WORDS = {"ack": "acknowledged", "assign": "assigned", "resolve": "resolved"}


def _brief(action: HandlingAction | None) -> dict[str, Any] | None:
    if action is None:
        return None
    return {"at": rfc3339(action.at), "by": action.author, "note": action.note}


def _feedback(action: HandlingAction) -> dict[str, Any]:
    return {
        "at": rfc3339(action.at),
        "by": action.author,
        "verdict": action.details["verdict"],
        "fault": action.details["fault"],
        "entity": action.details["entity"],
        "note": action.note,
    }


def _moment(action: HandlingAction) -> dict[str, Any]:
    kind = _WORDS.get(action.kind, action.kind)
    text = f"{kind} by {action.author}"
    if action.kind == "remedy":
        return {"at": rfc3339(action.at), "kind": "action", "text": action.note}
    if action.kind == "assign":
        text = f"assigned to {action.details['assignee']} by {action.author}"
    elif action.kind == "withdraw":
        kind, text = "feedback", f"{action.author} withdrew the last feedback"
    elif action.kind == "feedback":
        text = f"{action.author} says the cause is {action.details['verdict']}"
        if action.details["fault"]:
            text += f", it was {action.details['fault']}"
    return {
        "at": rfc3339(action.at),
        "kind": kind,
        "text": f"{text}: {action.note}" if action.note else text,
    }
