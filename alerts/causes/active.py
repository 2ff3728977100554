"""What active checks say of a candidate: results that were asked for, weighed as their table says.

Nobody misses a check that nobody ran, and when it ran says nothing of when the fault began: these
terms stand beside what a cause predicts. A check that passed speaks only since the symptom began,
and only against what it looked at as a whole.
"""

from collections.abc import Container, Iterable, Iterator

from ...vocabulary import checks
from ...vocabulary.checks import ActiveCheck
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from .catalogue import CatalogueCause
from .index import FindingIndex

BAD = "host.check_bad"
PASSED = "host.check_passed"

CheckAnswer = tuple[str, tuple[float, float]]
"""What a check said, in words, and when: earliest and latest, in seconds since the epoch."""

PROVES = 2.0
"""Nats from which on a bad result stands for the essential evidence of a cause."""


def against_and_for(
    cause: CatalogueCause, entity: Entity, index: FindingIndex, *, since: float
) -> Iterator[tuple[Finding, float]]:
    """Yield results that bear on a candidate, each with its weight in nats."""
    if BAD not in index and PASSED not in index:
        return
    for found, check in _results(cause, BAD, index):
        if _touches(found.entity, entity):
            yield found, check.weights(cause.fault)[0]
    for found, check in _results(cause, PASSED, index):
        if found.onset[1] >= since and _covers(found.entity, entity):
            yield found, check.weights(cause.fault)[1]


def answers(findings: Iterable[Finding]) -> frozenset[CheckAnswer]:
    """Return what checks said, each result once."""
    return frozenset((f.text, f.onset) for f in findings if f.kind in (BAD, PASSED))


def bears_on(answer: CheckAnswer, cause_faults: Container[str]) -> bool:
    """Return whether what a check said speaks of any of these faults."""
    check = checks.of_finding(answer[0])
    return check is not None and any(row.fault in cause_faults for row in check.causes)


def proven(cause: CatalogueCause, index: FindingIndex) -> list[Finding]:
    """Return bad results that stand for the essential evidence of a cause."""
    return [
        found
        for found, check in _results(cause, BAD, index)
        if check.weights(cause.fault)[0] >= PROVES
    ]


def proves(cause: CatalogueCause, entity: Entity, index: FindingIndex) -> bool:
    """Return whether a bad result of this entity stands for the essential evidence of a cause."""
    return any(_touches(found.entity, entity) for found in proven(cause, index))


def used(cause: CatalogueCause, entity: Entity, index: FindingIndex) -> list[Finding]:
    """Return the bad results that a candidate explains."""
    return [found for found, _ in _results(cause, BAD, index) if _touches(found.entity, entity)]


def _results(
    cause: CatalogueCause, kind: str, index: FindingIndex
) -> Iterator[tuple[Finding, ActiveCheck]]:
    """Yield the results of the checks that can show a cause."""
    for found in index.of_kind(kind):
        check = checks.of_finding(found.text)
        if check is not None and any(row.fault == cause.fault for row in check.causes):
            yield found, check


def _touches(checked: Entity, entity: Entity) -> bool:
    if (checked.type, checked.id) == (entity.type, entity.id):
        return True
    return any(rank in entity.ranks for rank in checked.ranks)


def _covers(checked: Entity, entity: Entity) -> bool:
    """Return whether a result of `checked` says something of all of `entity`.

    Of what hosts share, as storage is, any of them may say that it works.
    """
    if entity.type == "storage":
        return _touches(checked, entity)
    if (checked.type, checked.id) == (entity.type, entity.id):
        return True
    return bool(entity.ranks) and all(rank in checked.ranks for rank in entity.ranks)
