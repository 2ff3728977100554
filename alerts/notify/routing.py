"""Who is notified of what: which endpoint wants a happening, and what holds it back. Pure.

Patterns are shell patterns (`*`, `?`, `[..]`), matched with case.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ..ports import Endpoint

ENDINGS = ("incident.acknowledged", "incident.resolved")
"""What makes sense only to who was notified that the incident opened."""

LABELS = ("incident", "job", "fault", "severity", "host", "entity", "cluster")
"""What a silence can match on."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition: some value of `name` fits some pattern; `negate`: none does."""

    name: str
    patterns: tuple[str, ...]
    negate: bool = False


def allowed(patterns: Sequence[str], jobs: Iterable[str]) -> bool:
    """Return whether some job fits some pattern; no patterns allow everything."""
    return not patterns or any(fnmatchcase(job, pattern) for job in jobs for pattern in patterns)


def wanted(
    endpoint: Endpoint, kind: str, document: Mapping[str, Any], *, valid: bool
) -> str | None:
    """Return as what an endpoint is notified of this happening, None when it does not want it.

    `valid`: it was notified of the incident before. The first word is always that it opened: an
    incident may begin below what the endpoint asks for, and grow. Who was notified that something
    is wrong is also reported how it ended, however mild it has become.
    """
    if not endpoint.enabled or not allowed(endpoint.jobs, document["jobs"]):
        return None
    severe = document["severity"] in endpoint.severities
    if not severe and not (valid and kind in ENDINGS):
        return None
    types = ("incident.opened", kind) if kind == "incident.updated" and not valid else (kind,)
    return next((type_ for type_ in types if type_ in endpoint.events), None)


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


def muted(matchers: Sequence[Matcher], document: Mapping[str, Any]) -> bool:
    """Return whether every condition holds for this incident."""
    known = labels(document)
    return all(
        any(fnmatchcase(value, pattern) for value in known[row.name] for pattern in row.patterns)
        is not row.negate
        for row in matchers
    )
