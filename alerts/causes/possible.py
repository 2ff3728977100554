"""What the evidence does not exclude: causes that may be, though nothing shows them for certain.

A cause is named only with its essential evidence. Where a source is missing, or a detector could
not yet tell, the true cause stands among those that explain the symptoms without it: they follow
the named ones, below unknown, so that a reader sees what to check next.
"""

from collections.abc import Collection
from dataclasses import replace

from ...vocabulary.entities import Entity
from ...vocabulary.ids import Fault
from . import scoring
from .candidates import possible
from .catalogue import Catalogue, Cause
from .ranking import Candidate, Ranking, explains, prior
from .view import JobView

BELOW = 0.1
"""Nats by which a possible cause stays below unknown, at least."""


def not_excluded(
    ranked: Ranking, named: Collection[Fault], view: JobView, knowledge: Catalogue
) -> list[Candidate]:
    """Return the best candidate of each cause that lacks its essential evidence, best first.

    Those of the faults in `named` are left out: they have candidates of their own.
    """
    first = ranked.named
    near = ranked.unknown.entity if first is None else first.entity
    shown = {symptom.kind for symptom in ranked.symptoms}
    found = [
        row
        for cause in ranked.causes
        if cause.fault not in named
        and (row := _best(cause, near, shown, ranked, view, knowledge)) is not None
    ]
    found.sort(key=lambda row: (-round(row.score, 6), -row.cause.share, row.cause.fault))
    return found


def _best(
    cause: Cause,
    near: Entity,
    shown: set[str],
    ranked: Ranking,
    view: JobView,
    knowledge: Catalogue,
) -> Candidate | None:
    odds = prior(cause, ranked.causes, shown, knowledge)
    rows = [
        row
        for entity in possible(cause, near, ranked.index, view.topology)
        if (row := _candidate(cause, entity, odds, ranked, view, knowledge)) is not None
    ]
    return min(rows, key=lambda row: (-round(row.score, 6), row.entity), default=None)


def _candidate(
    cause: Cause,
    entity: Entity,
    odds: float,
    ranked: Ranking,
    view: JobView,
    knowledge: Catalogue,
) -> Candidate | None:
    weights = knowledge.weights
    explained = [row for row in ranked.symptoms if explains(cause, row, ranked.index)]
    if not explained:
        return None
    found = scoring.terms(
        cause, entity, prior=odds, index=ranked.index, symptoms=explained, view=view,
        weights=weights, proven=False,
    )  # fmt: skip
    lacks = scoring.unproven(cause, entity, ranked.index, view, weights)
    if found is None or lacks is None:
        return None
    terms = scoring.capped(found, weights.family_cap)
    score = sum(term.weight for term in terms)
    weight = min(lacks.weight, ranked.unknown.score - BELOW - score)
    return Candidate(cause, entity, score + weight, (*terms, replace(lacks, weight=weight)))
