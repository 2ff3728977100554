"""One change of code or settings over many jobs: what makes it one incident and not one a job.

A change is identified by the words that describe it (a revision, an image, a setting). Jobs whose
steps are longer since the same change share its incident while that is open; one that nobody
described is each job's own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..vocabulary.incidents import RootCause
from .causes.catalogue import cause_of
from .causes.engine import RootExplanation
from .lifecycle import TrackedIncident

SIGNAL = "change"
"""Signal of the evidence that names a change."""

_DESCRIBED = re.compile(r"(?> since a change .*? before \()(?P<what>.+)\)$")
_NOT_DESCRIBED = "not described"


def change_of(explanation: RootExplanation) -> str | None:
    """Return the description of the change that an explanation blames, None where it blames none.

    A change without a description is none: two of them need not be the same.
    """
    return blamed(explanation.cause)


def blamed(cause: RootCause) -> str | None:
    """Return the same of a root cause."""
    first = cause.hypotheses[0]
    entry = cause_of(first.fault)
    if entry is None or not entry.of_a_change:
        return None
    for row in first.evidence:
        found = _DESCRIBED.search(row.text) if row.signal == SIGNAL else None
        if found and found["what"] != _NOT_DESCRIBED:
            return found["what"]
    return None


def shared(
    found: Sequence[RootExplanation], incidents: Iterable[TrackedIncident]
) -> Sequence[RootExplanation]:
    """Return explanations; one that blames the change of an open incident names its root.

    The jobs of that incident have the same new code: it is at fault, in whichever job it was
    first seen.
    """
    whats = [change_of(row) for row in found]
    if not any(whats):
        return found
    known = {
        what: incident.first.cause.hypotheses[0].entity
        for incident in incidents
        if incident.open and incident.first is not None
        if (what := blamed(incident.first.cause)) is not None
    }
    rows: list[RootExplanation] = []
    for row, what in zip(found, whats, strict=True):
        entity = None if what is None else known.get(what)
        if entity is not None:
            first, *rest = row.cause.hypotheses
            cause = replace(row.cause, hypotheses=(replace(first, entity=entity), *rest))
            row = replace(row, cause=cause)
        rows.append(row)
    return rows
