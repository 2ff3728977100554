"""Every candidate of every cause that explains some symptoms, scored and put in order.

Each cause is scored on the symptoms it explains. `unknown` competes with its own prior and the
evidence that a named cause must bring, and gains where sources are missing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...vocabulary import faults
from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Action, Confidence, Evidence, Hypothesis, RootCause
from . import checks, scoring, wording
from .candidates import candidates
from .catalogue import Catalogue, Cause
from .index import FindingIndex
from .unknown import CATALOGUE, unknown
from .view import JobView

ENGINE = "log-odds-2"
MOST_HYPOTHESES = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """One cause at one entity with its terms; `score` is their sum."""

    cause: Cause
    entity: Entity
    score: float
    terms: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates for some symptoms, best first, and the hypothesis of none of them."""

    candidates: tuple[Candidate, ...]
    causes: tuple[Cause, ...]
    unseen: frozenset[str]
    unknown: Hypothesis

    @property
    def named(self) -> Candidate | None:
        """Return the best candidate, None where unknown beats it."""
        first = self.candidates[0] if self.candidates else None
        return first if first is not None and first.score > self.unknown.score else None

    def only(self, shown: set[str]) -> "Ranking":
        """Return the ranking of the causes of some kinds of symptoms."""
        causes = tuple(cause for cause in self.causes if shown & set(cause.symptoms))
        kept = {cause.fault for cause in causes}
        rows = tuple(row for row in self.candidates if row.cause.fault in kept)
        return replace(self, candidates=rows, causes=causes)

    def root_cause(self, view: JobView, knowledge: Catalogue) -> RootCause:
        """Return the ranking as the incident document has it, provisional."""
        rows = [_hypothesis(row, view) for row in self.candidates[:MOST_HYPOTHESES]]
        if self.named is None:
            rows.insert(0, self.unknown)
        rows = _numbered(rows[:MOST_HYPOTHESES], self.unknown.score)
        wanted = {p.finding for cause in self.causes for p in cause.predicts}
        unseen = wanted & self.unseen
        return RootCause(
            status="provisional",
            engine=ENGINE,
            catalogue=knowledge.version,
            hypotheses=tuple(rows),
            unknown_score=self.unknown.score,
            unknown_reasons=tuple(
                row.text
                for row in self.unknown.evidence
                if row.signal == CATALOGUE and row.family != "prior"
            ),
            next_checks=checks.next_checks(rows, self.causes, view.topology),
            missing=tuple(sorted({kinds.catalogue()[kind].signals[0] for kind in unseen})),
            clock_skew_seconds=view.clock_skew,
            coverage=1 - len(unseen) / len(wanted) if wanted else 0.0,
        )


def ranking(
    index: FindingIndex, symptoms: Sequence[Finding], view: JobView, knowledge: Catalogue
) -> Ranking:
    """Return the candidates for the symptoms (at least one), best first."""
    shown = {symptom.kind for symptom in symptoms}
    causes = tuple(cause for cause in knowledge.causes if shown & set(cause.symptoms))
    rows: list[Candidate] = []
    for cause in causes:
        explained = [symptom for symptom in symptoms if symptom.kind in cause.symptoms]
        prior = _prior(cause, causes, shown, knowledge)
        for entity in candidates(cause, index, view.topology):
            terms = scoring.terms(
                cause, entity, prior=prior, index=index, symptoms=explained, view=view,
                weights=knowledge.weights,
            )  # fmt: skip
            if terms is not None:
                score = sum(term.weight for term in terms)
                rows.append(Candidate(cause, entity, score, tuple(terms)))
    rows.sort(key=lambda row: (-round(row.score, 6), row.cause.fault, row.entity))
    predicted = {prediction.finding for cause in causes for prediction in cause.predicts}
    unseen = frozenset(kind for kind in predicted if not view.observable(kind))
    # Only what the best candidate could not show makes it less sure; a silent vendor exporter
    # does not matter to a NaN.
    missing = (
        len({term.signal for term in rows[0].terms if term.relation == "missing"})
        if rows
        else len(unseen)
    )
    none = unknown(
        index,
        symptoms,
        missing=missing,
        causes=len(causes),
        topology=view.topology,
        weights=knowledge.weights,
    )
    return Ranking(tuple(rows), causes, unseen, none)


def _prior(cause: Cause, causes: Sequence[Cause], shown: set[str], knowledge: Catalogue) -> float:
    """Return the log-odds of a cause among those that explain the same symptoms.

    Shares were published of other clusters: none is taken for rarer than `least_share`, so that one
    more cause in the catalogue does not make all others unlikely. What people confirmed at this
    site moves the prior from there.
    """
    mine = shown & set(cause.symptoms)
    rivals = sum(other.share for other in causes if mine & set(other.symptoms))
    share = max(cause.share / rivals, knowledge.weights.least_share)
    return scoring.log_odds(share * (1 - knowledge.weights.unknown_share)) + shift(cause)


def shift(cause: Cause) -> float:
    """Return by how much (nats) people's feedback moved a cause's prior."""
    if cause.learnt is None:
        return 0.0
    return scoring.log_odds(cause.learnt.value) - scoring.log_odds(cause.share)


def _hypothesis(row: Candidate, view: JobView) -> Hypothesis:
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
            Action(
                advice.when,
                wording.text(advice, row.entity, view.topology),
                wording.command(advice, row.entity, view.topology),
            )
            for advice in row.cause.actions
        ),
        runbook=row.cause.runbook,
    )


def _numbered(rows: Sequence[Hypothesis], none: float) -> list[Hypothesis]:
    """Return the hypotheses numbered, each as sure as its lead over the best other answer."""
    numbered: list[Hypothesis] = []
    for number, row in enumerate(rows, start=1):
        others = [other.score for other in rows if other is not row]
        if row.fault != faults.UNKNOWN:
            others.append(none)
        lead = row.score - max(others, default=row.score)
        confidence: Confidence = "high" if lead >= 3 else "medium" if lead >= 1.2 else "low"
        numbered.append(replace(row, rank=number, confidence=confidence))
    return numbered
