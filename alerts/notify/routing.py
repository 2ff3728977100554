"""Who is notified of what: which endpoint wants a happening, and what holds it back. Pure.

Patterns are shell patterns (`*`, `?`, `[..]`), matched with case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...vocabulary.faults import UNKNOWN
from ...vocabulary.incidents import CONFIDENCES
from ..ports import NotifiedEndpoint

ENDINGS = ("incident.acknowledged", "incident.resolved")
"""What makes sense only to who was notified that the incident opened."""

LABELS = ("incident", "job", "fault", "severity", "host", "entity", "cluster")
"""What a silence can match on."""


@dataclass(frozen=True, slots=True)
class RouteMatcher:
    """One condition: some value of `name` fits some pattern; `negate`: none does."""

    name: str
    patterns: tuple[str, ...]
    negate: bool = False


def allowed(patterns: Sequence[str], jobs: Iterable[str]) -> bool:
    """Return whether some job fits some pattern; no patterns allow everything."""
    return not patterns or any(fnmatchcase(job, pattern) for job in jobs for pattern in patterns)


def wanted(
    endpoint: NotifiedEndpoint, kind: str, document: Mapping[str, Any], *, valid: bool
) -> str | None:
    """Return as what an endpoint is notified of this happening, None when it does not want it.

    `valid`: it was notified of the incident before. The first word is always that it opened: an
    incident may begin below what the endpoint asks for, and grow. Who was notified that something
    is wrong is also reported how it ended, however mild it has become. Who subscribes to causes is
    notified when an incident has one of them, and from then on of whatever becomes of it.
    """
    if not endpoint.enabled or not allowed(endpoint.jobs, document["jobs"]):
        return None
    severe = document["severity"] in endpoint.severities
    if not severe and not (valid and kind in ENDINGS):
        return None
    if endpoint.subscribes and not valid and not caused(endpoint, document):
        return None
    types = ("incident.opened", kind) if kind == "incident.updated" and not valid else (kind,)
    return next((type_ for type_ in types if type_ in endpoint.events), None)


def caused(endpoint: NotifiedEndpoint, document: Mapping[str, Any]) -> bool:
    """Return whether an incident has a cause that an endpoint subscribes to, sure enough.

    What acts on a cause needs one that lasts: a provisional one never counts, nor does an incident
    that is over. `unknown` counts only where it is subscribed to by name. Without a calibrated
    probability the confidence decides; it must be high where only a probability was asked for.
    """
    cause = document["root_cause"]
    first = next(iter(cause["hypotheses"]), None)
    if first is None or cause["status"] == "provisional" or document["status"] == "resolved":
        return False
    fault = first["fault"]
    if fault == UNKNOWN and UNKNOWN not in endpoint.faults:
        return False
    if endpoint.faults and not any(fnmatchcase(fault, pattern) for pattern in endpoint.faults):
        return False
    if endpoint.min_probability is not None and first["probability"] is not None:
        return bool(first["probability"] >= endpoint.min_probability)
    least = endpoint.min_confidence
    if least is None:
        least = "low" if endpoint.min_probability is None else "high"
    return CONFIDENCES.index(first["confidence"]) >= CONFIDENCES.index(least)


def labels(document: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return what an incident can be matched by; a name may have several values."""
    causes = document["root_cause"]["hypotheses"][:1]
    things = [row["entity"] for row in (*document["symptoms"], *causes)]
    return {
        "incident": {document["id"]},
        "job": set(document["jobs"]),
        "fault": {row["fault"] for row in causes},
        "severity": {document["severity"]},
        "host": {thing["host"] for thing in things if thing["host"]},
        "entity": {f"{thing['type']} {thing['id']}" for thing in things},
        "cluster": {document["cluster"]} if document["cluster"] else set(),
    }


def muted(matchers: Sequence[RouteMatcher], document: Mapping[str, Any]) -> bool:
    """Return whether every condition holds for this incident."""
    known = labels(document)
    return all(
        any(fnmatchcase(value, pattern) for value in known[row.name] for pattern in row.patterns)
        is not row.negate
        for row in matchers
    )
