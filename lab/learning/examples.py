"""Rankings as arrays: every candidate of an evaluation with its terms, and which one is right.

A snapshot is one evaluation of a case after the onset. Its candidates are those of the engine and
`unknown`, which is right where no candidate is. Terms are kept before families are capped, each
with the parameter of the catalogue that it is the product of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...alerts.affected_job import is_history
from ...alerts.causes import ranking, scoring
from ...alerts.causes.catalogue import Catalogue, Cause, Prediction
from ...alerts.causes.index import FindingIndex
from ...alerts.causes.view import JobView
from ...vocabulary import findings as kinds
from ...vocabulary.findings import Finding
from ..scoring import placing
from ..scoring.seen import Truth
from .evaluations import Evaluation, TrackedCase
from .parameters import Parameter, engine, of_prediction

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BEFORE_SECONDS, BEFORE_STEPS = 10.0, 2.0
"""A symptom that began longer before the onset (the larger counts) is of something else: clocks
that are off from the start are no sign of a fault."""

AFTER_SECONDS = (0.0, 10.0, 30.0, 90.0)
"""A case is looked at so long after its first symptom, and at the last one."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The candidates of one evaluation; `unknown` is the last one.

    Terms are rows of four columns: candidate, slot (terms of one family of one candidate are
    capped together), parameter as it stands in `parameters`, and what its weight is multiplied by.
    `capped`: by slot. `fixed` is what is added to each candidate beside its terms.
    """

    faults: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    candidate: Ints
    slot: Ints
    parameter: Ints
    value: Floats
    capped: NDArray[np.bool_]
    fixed: Floats
    right: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Example:
    """The snapshots of one case, with what it is held out by."""

    case: TrackedCase
    snapshots: tuple[Snapshot, ...]

    @property
    def fault(self) -> str:
        """Return the fault id of the (first) true fault."""
        return self.case.truths[0].fault

    @property
    def shape(self) -> str:
        """Return the shape of the cluster; drawn ones are told apart by their suite."""
        return f"{self.case.case['suite']} {self.case.case['shape']}"


@dataclass(frozen=True, slots=True)
class About:
    """Which symptoms are about the fault of a case.

    Those that began at `since` or later, and that its cause explains or that hurt the job: a clock
    that is off besides is true, too, and no wrong answer.
    """

    since: float
    explained: frozenset[str]

    def symptoms(self, row: Evaluation) -> list[Finding]:
        """Return these symptoms of an evaluation."""
        known = kinds.catalogue()
        return [
            finding
            for finding in _live(row)
            if known[finding.kind].symptom
            and finding.onset[1] >= self.since
            and (finding.kind in self.explained or known[finding.kind].effect != "none")
        ]


def example(case: TrackedCase, knowledge: Catalogue) -> Example | None:
    """Return the example of a case, None where nothing was found in it after its onset."""
    if not case.truths or not case.case["observable"]:
        return None
    onset = case.truths[0].onset
    since = onset - max(BEFORE_SECONDS, BEFORE_STEPS * case.step_seconds)
    shown = frozenset(
        kind
        for cause in knowledge.causes
        if cause.fault in {truth.fault for truth in case.truths}
        for kind in cause.symptoms
    )
    about = About(since, shown)
    snapshots = [
        shot
        for row in chosen(case.evaluations, onset, about)
        if (shot := snapshot(row, case.truths, knowledge, about)) is not None
    ]
    return Example(case, tuple(snapshots)) if snapshots else None


def chosen(rows: Iterable[Evaluation], onset: float, about: About) -> list[Evaluation]:
    """Return the evaluations of a case to learn from: some time after its first symptom each."""
    shown = [row for row in rows if row.now >= onset and about.symptoms(row)]
    if not shown:
        return []
    first = shown[0].now
    picked = [
        next((row for row in shown if row.now >= first + after), shown[-1])
        for after in AFTER_SECONDS
    ]
    picked.append(shown[-1])
    return list({row.now: row for row in picked}.values())


def snapshot(
    row: Evaluation, truths: Sequence[Truth], knowledge: Catalogue, about: About
) -> Snapshot | None:
    """Return the candidates for the symptoms of the fault, None where there are none."""
    symptoms = about.symptoms(row)
    if not symptoms:
        return None
    index = FindingIndex(_live(row), row.topology)
    view = JobView(row.topology, row.observed, row.clock_skew)
    return _Builder(index, symptoms, view, truths, knowledge).built()


def _live(row: Evaluation) -> list[Finding]:
    return [finding for finding in row.findings if not is_history(finding, row.health)]


class _Builder:
    """Puts the candidates of one evaluation into columns."""

    def __init__(
        self,
        index: FindingIndex,
        symptoms: Sequence[Finding],
        view: JobView,
        truths: Sequence[Truth],
        knowledge: Catalogue,
    ) -> None:
        self._parameters: dict[Parameter, int] = {}
        self._slots: dict[tuple[int, str], int] = {}
        self._capped: list[bool] = []
        self._terms: list[tuple[int, int, int, float]] = []
        self._faults: list[str] = []
        self._fixed: list[float] = []
        self._right: list[bool] = []
        for cause, entity, terms in ranking.scored(index, symptoms, view, knowledge):
            self._right.append(
                any(
                    cause.fault == truth.fault and placing.at_fault(entity, truth)
                    for truth in truths
                )
            )
            self._candidate(cause, terms)
        ranked = ranking.ranking(index, symptoms, view, knowledge)
        self._unknown(ranked, knowledge)

    def built(self) -> Snapshot:
        """Return the columns."""
        columns = np.array(self._terms, dtype=np.float64).reshape(-1, 4)
        return Snapshot(
            faults=tuple(self._faults),
            parameters=tuple(self._parameters),
            candidate=columns[:, 0].astype(np.int64),
            slot=columns[:, 1].astype(np.int64),
            parameter=columns[:, 2].astype(np.int64),
            value=columns[:, 3],
            capped=np.array(self._capped, dtype=np.bool_),
            fixed=np.array(self._fixed),
            right=np.array(self._right, dtype=np.bool_),
        )

    def _candidate(self, cause: Cause, terms: Sequence[scoring.Term]) -> None:
        self._faults.append(cause.fault)
        self._fixed.append(0.0)
        for term in terms:
            if term.part == "missing":
                continue
            if term.part == "scope":
                self._fixed[-1] -= scoring.SCOPE_NEEDED
            parameter = (
                engine(term.part)
                if term.prediction is None
                else of_prediction(cause, term.part, _position(cause, term.part, term.prediction))
            )
            self._add(parameter, term.row.family, term.factor)

    def _unknown(self, ranked: ranking.Ranking, knowledge: Catalogue) -> None:
        """Add unknown: right where no other candidate is."""
        prior = scoring.log_odds(knowledge.weights.unknown_share) if ranked.causes else 0.0
        self._faults.append(str(ranked.unknown.fault))
        self._fixed.append(prior)
        self._right.append(not any(self._right))
        self._add(engine("needed"), "needed", 1.0)
        best = ranked.candidates[0] if ranked.candidates else None
        count = (
            len(ranked.unseen)
            if best is None
            else len({term.signal for term in best.terms if term.relation == "missing"})
        )
        if count:
            self._add(engine("missing"), "needed", float(count))

    def _add(self, parameter: Parameter, family: str, value: float) -> None:
        number = len(self._faults) - 1
        slot = self._slots.setdefault((number, family), len(self._slots))
        if slot == len(self._capped):
            self._capped.append(parameter.fault != "")
        column = self._parameters.setdefault(parameter, len(self._parameters))
        self._terms.append((number, slot, column, value))


def _position(cause: Cause, part: str, prediction: Prediction) -> int:
    rows = cause.contradicts if part == "contradicts" else cause.predicts
    return next(number for number, row in enumerate(rows) if row is prediction)
