"""A ranking as the incident document has it: hypotheses with probabilities, and the next checks."""

from collections.abc import Sequence
from dataclasses import replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.incidents import (
    DataQuality,
    Hypothesis,
    RecommendedAction,
    RootCause,
    UnknownScore,
)
from . import calibration, checks, line_checks, wording
from .calibration import UNCALIBRATED
from .catalogue import CauseCatalogue
from .possible import not_excluded
from .ranking import ENGINE, CandidateCause, CauseRanking
from .reach import AnswerSetting
from .scoring import UNCAPPED
from .unknown import CATALOGUE
from .view import JobView

MOST_HYPOTHESES = 5


def root_cause(
    ranked: CauseRanking,
    view: JobView,
    knowledge: CauseCatalogue,
    others: Sequence[Entity] = (),
) -> RootCause:
    """Return the hypotheses of a ranking, what is possible besides among them; provisional.

    `others`: further places at which the first one is named.
    """
    fitted = knowledge.calibration or UNCALIBRATED
    named = {row.cause.fault for row in ranked.candidates}
    candidates = _in_order(
        [*ranked.candidates, *not_excluded(ranked, named, view, knowledge)], ranked
    )
    rows = [_hypothesis(row, view) for row in candidates[:MOST_HYPOTHESES]]
    beaten = ranked.named is None
    wanted = {kind for cause in ranked.causes for kind in cause.predicted_findings}
    unseen = wanted & ranked.unseen
    coverage = 1 - len(unseen) / len(wanted) if wanted else 0.0
    setting = AnswerSetting(
        view.topology.world_size, view.interval, coverage, signs(rows[0]) if rows else 0
    )
    likely, of_unknown = fitted.probabilities(
        [row.score for row in candidates],
        ranked.unknown.score,
        lead=None if beaten else calibration.lead(rows, ranked.unknown.score, others),
        setting=setting,
    )
    if beaten:
        rows, likely = [ranked.unknown, *rows], [of_unknown, *likely]
    rows, likely = rows[:MOST_HYPOTHESES], likely[:MOST_HYPOTHESES]
    asked = checks.next_checks(rows, likely, ranked.causes, view.topology)
    if beaten:
        asked = line_checks.of(ranked.symptoms, rows[0].entity, view.topology) or asked
    return RootCause(
        status="provisional",
        engine=ENGINE,
        catalogue=knowledge.version,
        hypotheses=tuple(
            replace(
                row,
                rank=number,
                probability=None if knowledge.calibration is None else chance,
                confidence=fitted.confidence(row.fault, chance, setting),
            )
            for number, (row, chance) in enumerate(zip(rows, likely, strict=True), start=1)
        ),
        unknown=UnknownScore(
            score=ranked.unknown.score,
            reasons=tuple(
                row.text
                for row in ranked.unknown.evidence
                if row.signal == CATALOGUE and row.family != "prior"
            ),
        ),
        next_checks=asked,
        data_quality=DataQuality(
            missing=tuple(sorted({kinds.catalogue()[kind].signals[0] for kind in unseen})),
            clock_skew_seconds=view.clock_skew,
            coverage=coverage,
        ),
    )


def signs(answer: Hypothesis) -> int:
    """Return how many families of findings support an answer: signs of as many physical things."""
    return len(
        {
            row.family
            for row in answer.evidence
            if row.relation == "supports" and row.weight > 0 and row.family not in UNCAPPED
        }
    )


def _in_order(rows: Sequence[CandidateCause], ranked: CauseRanking) -> list[CandidateCause]:
    """Return candidates with the named one first, then other causes before other places of one.

    A host beside one of its ranks with the same fault tells a reader nothing new.
    """
    if not rows:
        return []
    held = 0 if ranked.named is None else 1
    kept: list[CandidateCause] = []
    again: list[CandidateCause] = []
    for row in (*rows[:held], *sorted(rows[held:], key=_key)):
        (again if any(_same(row, other) for other in kept) else kept).append(row)
    return [*kept, *again]


def _key(row: CandidateCause) -> tuple[object, ...]:
    return (-round(row.score, 6), -row.cause.share, row.cause.fault, row.entity)


def _same(one: CandidateCause, other: CandidateCause) -> bool:
    return one.cause is other.cause and calibration.overlap(one.entity, other.entity)


def _hypothesis(row: CandidateCause, view: JobView) -> Hypothesis:
    prior, *others = row.terms
    return Hypothesis(
        rank=1,
        fault=row.cause.fault,
        entity=row.entity,
        score=row.score,
        probability=None,
        confidence="low",
        evidence=(*sorted(others, key=lambda term: -abs(term.weight)), prior),
        actions=tuple(
            RecommendedAction(
                advice.when,
                wording.text(advice, row.entity, view.topology),
                wording.command(advice, row.entity, view.topology),
            )
            for advice in row.cause.actions
        ),
        runbook=row.cause.runbook,
    )
