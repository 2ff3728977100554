"""Many cases together: precision, recall, F1, right entity, wrong accusations, delays.

Only cases whose telemetry can show the fault count in recall; the others are counted apart. Shares
are in [0, 1], NaN where there is nothing to take a share of.

- recall: found cases / observable faulty cases. precision: found / (found + false incidents above
  info of all cases). F1: their harmonic mean.
- right and exact entity, right cause: shares of the found cases (placing.py says what is right).
- wrong accusations: incidents that accuse a healthy node / all incidents above info.
- false per job-day and pages per 1,000 GPU-days: over the healthy cases.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import placing
from .matching import CaseOutcome, outcome
from .results import PIPELINE, CaseResult
from .seen import CaseTruth, SeenIncident

DAY = 86_400.0
NOTHING = "none"
"""The column of the confusion matrix for cases in which nothing was found."""
HEALTHY = "healthy"


@dataclass(frozen=True, slots=True)
class ScoredResult:
    """A result and what one method made of it."""

    result: CaseResult
    outcome: CaseOutcome
    incidents: tuple[SeenIncident, ...] = ()

    @property
    def truths(self) -> tuple[CaseTruth, ...]:
        """Return everything that went wrong."""
        first = self.result.truth
        return () if first is None else (first, *self.result.also)

    @property
    def faulty(self) -> bool:
        """Return whether something was wrong."""
        return self.result.case["fault"] is not None

    @property
    def observable(self) -> bool:
        """Return whether something was wrong that the telemetry can show."""
        return self.faulty and bool(self.result.case["observable"])


@dataclass(frozen=True, slots=True)
class DelayQuantiles:
    """Quantiles of delays."""

    p50: float = math.nan
    p90: float = math.nan
    p99: float = math.nan


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """The figures of one method over some cases; the module says what each is."""

    cases: int
    observable: int
    found: int
    unobservable: int
    unobservable_found: int
    healthy: int
    false_incidents: int
    duplicates: int
    precision: float
    recall: float
    f1: float
    right_entity: float
    exact_entity: float
    right_cause: float
    wrong_accusations: float
    cases_with_wrong_accusation: float
    healthy_job_days: float
    false_per_job_day: float
    false_pages_per_1000_gpu_days: float
    delay_seconds: DelayQuantiles
    delay_steps: DelayQuantiles
    first_report_seconds: DelayQuantiles

    def document(self) -> dict[str, Any]:
        """Return them ready for JSON: NaN is None, six significant digits."""
        document: dict[str, Any] = _plain(asdict(self))
        return document


def scored(results: Iterable[CaseResult], method: str = PIPELINE) -> list[ScoredResult]:
    """Return the results that this method has an answer for, each with its outcome."""
    return [
        ScoredResult(
            row,
            outcome(
                row.truth,
                own(row, method),
                step_seconds=row.step_seconds,
                report_seconds=float(row.case.get("report_seconds", 0.0)),
            ),
            row.found[method],
        )
        for row in results
        if method in row.found
    ]


def own(row: CaseResult, method: str) -> Sequence[SeenIncident]:
    """Return the incidents of a case that are not about the second of its two faults."""
    return [
        seen
        for seen in row.found[method]
        if not any(seen.fault == truth.fault and placing.right(seen, truth) for truth in row.also)
    ]


def figures(rows: Sequence[ScoredResult]) -> MethodFigures:
    """Return the figures over these cases."""
    visible = [row for row in rows if row.observable]
    hidden = [row for row in rows if row.faulty and not row.observable]
    healthy = [row for row in rows if not row.faulty]
    found = [row for row in visible if row.outcome.found]
    false = sum(len(row.outcome.false) for row in rows)
    duplicates = sum(len(row.outcome.duplicates) for row in rows)
    matched = sum(row.outcome.found is not None for row in rows) + duplicates
    accusing = sum(len(row.outcome.wrong_accusations) for row in rows)
    precision = _share(len(found), len(found) + false)
    recall = _share(len(found), len(visible))
    days = sum(row.result.seconds for row in healthy) / DAY
    gpu_days = sum(row.result.seconds * row.result.devices for row in healthy) / DAY
    healthy_false = [incident for row in healthy for incident in row.outcome.false]
    pages = sum(incident.severity == "critical" for incident in healthy_false)
    return MethodFigures(
        cases=len(rows),
        observable=len(visible),
        found=len(found),
        unobservable=len(hidden),
        unobservable_found=sum(row.outcome.found is not None for row in hidden),
        healthy=len(healthy),
        false_incidents=false,
        duplicates=duplicates,
        precision=precision,
        recall=recall,
        f1=_harmonic(precision, recall),
        right_entity=_share(sum(row.outcome.right_entity for row in found), len(found)),
        exact_entity=_share(sum(row.outcome.exact_entity for row in found), len(found)),
        right_cause=_share(sum(row.outcome.right_cause for row in found), len(found)),
        wrong_accusations=_share(accusing, matched + false),
        cases_with_wrong_accusation=_share(
            sum(bool(row.outcome.wrong_accusations) for row in rows), len(rows)
        ),
        healthy_job_days=days,
        false_per_job_day=_share(len(healthy_false), days),
        false_pages_per_1000_gpu_days=_share(1000.0 * pages, gpu_days),
        delay_seconds=_delays(row.outcome.delay for row in found),
        delay_steps=_delays(
            row.outcome.delay / row.result.step_seconds
            for row in found
            if row.outcome.delay is not None
        ),
        first_report_seconds=_delays(row.outcome.first_report for row in found),
    )


def broken_down(
    rows: Sequence[ScoredResult], by: Callable[[ScoredResult], str | None]
) -> dict[str, list[ScoredResult]]:
    """Return the cases by a property, sorted; cases for which it is None are left out."""
    groups: dict[str, list[ScoredResult]] = {}
    for row in rows:
        if (name := by(row)) is not None:
            groups.setdefault(name, []).append(row)
    return dict(sorted(groups.items()))


def by_fault(row: ScoredResult) -> str:
    """Return the fault id of a case's fault, "healthy" where there is none."""
    return str(row.result.case["fault"] or HEALTHY)


def by_field(name: str) -> Callable[[ScoredResult], str | None]:
    """Return a function that returns a field of what was drawn."""
    return lambda row: str(row.result.case[name])


BREAKDOWNS: Mapping[str, Callable[[ScoredResult], str | None]] = {
    "fault": by_fault,
    "strength": by_field("strength"),
    "missing": by_field("missing"),
    "shape": by_field("shape"),
    "habit": by_field("habit"),
    "benign": by_field("benign"),
}


def confusion(rows: Sequence[ScoredResult]) -> dict[str, Counter[str]]:
    """Return, by true fault, how often each fault was the first cause ("none": not found).

    A healthy case counts the first cause of each of its false incidents, or "none" without any.
    """
    matrix: dict[str, Counter[str]] = {}
    for row in rows:
        if row.faulty and not row.observable:
            continue
        line = matrix.setdefault(by_fault(row), Counter())
        if row.faulty:
            line[row.outcome.found.fault if row.outcome.found else NOTHING] += 1
        else:
            line.update([incident.fault for incident in row.outcome.false] or [NOTHING])
    return dict(sorted(matrix.items()))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile by the nearest rank, NaN of no values."""
    if not values:
        return math.nan
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def _delays(values: Iterable[float | None]) -> DelayQuantiles:
    known = [value for value in values if value is not None]
    return DelayQuantiles(quantile(known, 0.5), quantile(known, 0.9), quantile(known, 0.99))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other > 0 else math.nan


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value
