"""What the evidence does not exclude: causes that may be, though nothing shows them for certain.

A cause is named only with its essential evidence. Where a source is missing, or a detector could
not yet tell, the true cause stands among those that explain the symptoms without it: they follow
the named ones, below unknown, so that a reader sees what to check next.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.ids import Fault
from . import scoring
from .candidates import PossiblePlaces
from .catalogue import CatalogueCause, CauseCatalogue
from .ranking import CandidateCause, CausePriors, CauseRanking, explains
from .view import JobView

BELOW = 0.1
"""Nats by which a possible cause stays below unknown, at least."""


def not_excluded(
    ranked: CauseRanking, named: Collection[Fault], view: JobView, knowledge: CauseCatalogue
) -> list[CandidateCause]:
    """Return the best candidate of each cause that lacks its essential evidence, best first.

    Those of the faults in `named` are left out: they have candidates of their own.
    """
    first = ranked.named
    near = ranked.unknown.entity if first is None else first.entity
    shown = {symptom.kind for symptom in ranked.symptoms}
    priors = CausePriors(ranked.causes, shown, knowledge)
    places = PossiblePlaces(near, ranked.index, view.topology)
    found = [
        row
        for cause in ranked.causes
        if cause.fault not in named
        and (row := _best(cause, priors, places, ranked, view, knowledge)) is not None
    ]
    found.sort(key=lambda row: (-round(row.score, 6), -row.cause.share, row.cause.fault))
    # Below unknown, each in its order: what keeps one there must not make it equal to another.
    most = ranked.unknown.score - BELOW
    for number, row in enumerate(found):
        if row.score > most:
            found[number] = _lowered(row, most)
        most = min(most, found[number].score - 1e-3)
    return found


def _lowered(row: CandidateCause, score: float) -> CandidateCause:
    """Return a candidate that lacks evidence with this score: its last term is the difference."""
    *terms, lacks = row.terms
    lacks = replace(lacks, weight=lacks.weight + score - row.score)
    return replace(row, score=score, terms=(*terms, lacks))


def _best(
    cause: CatalogueCause,
    priors: CausePriors,
    places: PossiblePlaces,
    ranked: CauseRanking,
    view: JobView,
    knowledge: CauseCatalogue,
) -> CandidateCause | None:
    explained = [row for row in ranked.symptoms if explains(cause, row, ranked.index)]
    if not explained:
        return None
    odds = priors.of(cause, ranked.index)
    rows = [
        row
        for entity in places.of(cause)
        if (row := _candidate(cause, entity, odds, explained, ranked, view, knowledge)) is not None
    ]
    return min(rows, key=lambda row: (-round(row.score, 6), row.entity), default=None)


def _candidate(
    cause: CatalogueCause,
    entity: Entity,
    odds: float,
    explained: Sequence[Finding],
    ranked: CauseRanking,
    view: JobView,
    knowledge: CauseCatalogue,
) -> CandidateCause | None:
    weights = knowledge.weights
    lacks = scoring.unproven(cause, entity, ranked.index, view, weights)
    if lacks is None:
        return None
    found = scoring.terms(
        cause, entity, prior=odds, index=ranked.index, symptoms=explained, view=view,
        weights=weights, proven=False,
    )  # fmt: skip
    if found is None:
        return None
    terms = scoring.capped(found, weights.family_cap)
    score = sum(term.weight for term in terms)
    return CandidateCause(cause, entity, score + lacks.weight, (*terms, lacks))
