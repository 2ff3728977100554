"""Every candidate of every cause that explains some symptoms, scored and put in order.

Each cause is scored on the symptoms it explains. `unknown` competes with its own prior and the
evidence that a named cause must bring, and gains where sources are missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ...vocabulary import findings as kinds
from ...vocabulary.entities import Entity
from ...vocabulary.findings import Finding
from ...vocabulary.incidents import Evidence, Hypothesis
from . import scoring
from .candidates import candidates
from .catalogue import CatalogueCause, CauseCatalogue
from .index import FindingIndex
from .unknown import unknown
from .view import JobView

ENGINE = "log-odds-7"

PAGES = 1.0
"""A slowness that its detector scores below this costs too little to page anybody."""

NEARLY = 0.6
TOGETHER_SECONDS = 30.0
"""One that scores so much is why a job became slow where it began within so many seconds of it."""

BEFORE_SECONDS = 120.0
"""A slight slowness that began so long before all signs of what hangs a job is another matter."""


@dataclass(frozen=True, slots=True)
class CandidateCause:
    """One cause at one entity with its terms; `score` is their sum."""

    cause: CatalogueCause
    entity: Entity
    score: float
    terms: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class CauseRanking:
    """The candidates for some symptoms, best first, and the hypothesis of none of them."""

    index: FindingIndex
    symptoms: tuple[Finding, ...]
    candidates: tuple[CandidateCause, ...]
    causes: tuple[CatalogueCause, ...]
    unseen: frozenset[str]
    unknown: Hypothesis

    @property
    def named(self) -> CandidateCause | None:
        """Return the best candidate, None where unknown beats it."""
        first = self.candidates[0] if self.candidates else None
        return first if first is not None and first.score > self.unknown.score else None

    def only(self, shown: set[str]) -> "CauseRanking":
        """Return the ranking of the causes of some kinds of symptoms."""
        causes = tuple(cause for cause in self.causes if not shown.isdisjoint(cause.shown_by))
        kept = {cause.fault for cause in causes}
        rows = tuple(row for row in self.candidates if row.cause.fault in kept)
        return replace(self, candidates=rows, causes=causes)


def explaining(shown: set[str], knowledge: CauseCatalogue) -> tuple[CatalogueCause, ...]:
    """Return the causes that explain some of these kinds of symptoms."""
    return tuple(cause for cause in knowledge.causes if not shown.isdisjoint(cause.shown_by))


def explains(cause: CatalogueCause, symptom: Finding, index: FindingIndex) -> bool:
    """Return whether a cause can be what brings a symptom about.

    What costs too little time for a page (a stage that always was somewhat longer) is not why the
    job became slow enough for one. Where a cause may show otherwise too, and does, that says
    nothing: clocks may be uneven from the first step, and one rank become slow. Nor is it why where
    all of its signs say that they cost nothing: a power limit that no device reaches. And what
    costs too little for a page and began minutes before the first sign of what then hung the job
    (steps that grow with their sequences) is not the beginning of that hang.
    """
    if symptom.kind not in cause.shown_by:
        return False
    if symptom.entity.type != "job" or not _slows(symptom.kind):
        return True
    if _costs_nothing(cause, index):
        return False
    if symptom.score < PAGES:
        return not _hung_later(cause, symptom, index)
    shown = {kind for kind in cause.essential_findings if kind != symptom.kind and kind in index}
    if any(not _slows(kind) for kind in shown):
        return True
    own = [found for kind in shown for found in index.of_kind(kind)]
    return not own or any(found.score >= PAGES or _with(found, symptom) for found in own)


def _hung_later(cause: CatalogueCause, symptom: Finding, index: FindingIndex) -> bool:
    """Return whether a cause hangs jobs, and all signs of it began minutes after a symptom."""
    signs = [
        row.onset[0]
        for kind in cause.essential_findings
        if not _slows(kind)
        for row in index.of_kind(kind)
    ]
    return cause.hangs_job and bool(signs) and min(signs) - symptom.onset[1] > BEFORE_SECONDS


def _with(found: Finding, symptom: Finding) -> bool:
    """Return whether what costs nearly enough for a page began when its symptom did."""
    return found.score >= NEARLY and abs(found.onset[1] - symptom.onset[1]) <= TOGETHER_SECONDS


def _costs_nothing(cause: CatalogueCause, index: FindingIndex) -> bool:
    """Return whether there are signs of a cause, and all of them ask nobody for anything."""
    signs = [row for kind in cause.essential_findings for row in index.of_kind(kind)]
    return bool(signs) and all(_asks_nothing(row) for row in signs)


def _asks_nothing(found: Finding) -> bool:
    known = kinds.catalogue()[found.kind]
    return known.effect == "none" and known.asks_from is not None and found.score < known.asks_from


def _slows(kind: str) -> bool:
    known = kinds.catalogue()[kind]
    return known.symptom and known.effect == "slows"


def scored(
    index: FindingIndex, symptoms: Sequence[Finding], view: JobView, knowledge: CauseCatalogue
) -> Iterator[tuple[CatalogueCause, Entity, list[scoring.ScoreTerm]]]:
    """Yield every candidate for the symptoms with its terms, families not capped yet."""
    shown = {symptom.kind for symptom in symptoms}
    causes = explaining(shown, knowledge)
    priors = CausePriors(causes, shown, knowledge)
    for cause in causes:
        explained = [symptom for symptom in symptoms if explains(cause, symptom, index)]
        if not explained:
            continue
        odds = priors.of(cause, index)
        for entity in candidates(cause, index):
            terms = scoring.terms(
                cause, entity, prior=odds, index=index, symptoms=explained, view=view,
                weights=knowledge.weights,
            )  # fmt: skip
            if terms is not None:
                yield cause, entity, terms


def ranking(
    index: FindingIndex, symptoms: Sequence[Finding], view: JobView, knowledge: CauseCatalogue
) -> CauseRanking:
    """Return the candidates for the symptoms (at least one), best first."""
    shown = {symptom.kind for symptom in symptoms}
    causes = explaining(shown, knowledge)
    rows: list[CandidateCause] = []
    for cause, entity, found in scored(index, symptoms, view, knowledge):
        terms = scoring.capped(found, knowledge.weights.family_cap)
        rows.append(CandidateCause(cause, entity, sum(term.weight for term in terms), tuple(terms)))
    rows.sort(key=lambda row: (-round(row.score, 6), row.cause.fault, row.entity))
    predicted = {kind for cause in causes for kind in cause.predicted_findings}
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
    return CauseRanking(index, tuple(symptoms), tuple(rows), causes, unseen, none)


class CausePriors:
    """The priors of the causes that explain some kinds of symptoms.

    Shares were published of other clusters: none is taken for rarer than `least_share`, so that one
    more cause in the catalogue does not make all others unlikely. What people confirmed at this
    site moves the prior from there.
    """

    def __init__(
        self, causes: Sequence[CatalogueCause], shown: set[str], knowledge: CauseCatalogue
    ) -> None:
        self._causes, self._shown, self._weights = causes, shown, knowledge.weights
        self._rivals: dict[frozenset[str], float] = {}
        """Shares of all causes that explain any of some kinds of symptoms, by these kinds."""

    def of(self, cause: CatalogueCause, index: FindingIndex) -> float:
        """Return the log-odds of a cause among those that explain the same symptoms.

        One whose signs cost nothing explains no slowness, and has no rivals there.
        """
        mine = cause.shown_by & self._shown
        if _costs_nothing(cause, index):
            mine = frozenset(kind for kind in mine if not _slows(kind))
        rivals = self._rivals.get(mine)
        if rivals is None:
            rivals = self._rivals[mine] = sum(
                other.share for other in self._causes if not mine.isdisjoint(other.shown_by)
            )
        share = max(cause.share / rivals, self._weights.least_share)
        return scoring.log_odds(share * (1 - self._weights.unknown_share)) + shift(cause)


def shift(cause: CatalogueCause) -> float:
    """Return by how much (nats) people's feedback moved a cause's prior."""
    if cause.learnt is None:
        return 0.0
    return scoring.log_odds(cause.learnt.value) - scoring.log_odds(cause.share)
