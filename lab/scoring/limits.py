"""How soon faults are found against how soon they have to be, and how well leaks are measured.

Limits are data, limits.toml. A delay is counted to the first report of the incident that is the
answer, of any severity: a stall is information until an evaluation can no longer explain it. It is
counted from the moment at which the fault has the effect that the limit is about, which the
simulator knows (simulator/moments.py), and 0 for what was reported before; from the onset where a
limit names no effect. The other count begins when the first report arrived that can show the effect
(simulator/arrivals.py), without a reporting interval on top. A case that never has the effect of a
limit has no such limit.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from ...vocabulary import faults, row_values, tables
from ..simulator.arrivals import ONSET
from .figures import ScoredResult, broken_down, by_fault

MOST_ERROR = 0.25
"""Largest relative error of the time to exhaustion that counts as right."""


FaultName = Annotated[str, row_values.KnownValues("fault", faults.catalogue)]


@dataclass(frozen=True, slots=True)
class DelayLimit:
    """So many seconds or healthy steps, the longer of them or their sum; strength "": any.

    `since` is the effect from which on it counts ("": the onset); `unless` one that it excludes.
    """

    name: str
    faults: tuple[FaultName, ...]
    seconds: float
    steps: float
    strength: str = ""
    sum: bool = False
    since: str = ""
    unless: str = ""

    def holds(self, row: ScoredResult) -> bool:
        case, truth = row.result.case, row.result.truth
        effects = {} if truth is None else truth.effects
        return (
            case["fault"] in self.faults
            and self.strength in ("", case["strength"])
            and (not self.since or self.since in effects)
            and self.unless not in effects
        )

    def delay(self, row: ScoredResult) -> float | None:
        """Return the seconds to the first report of a case that this limit is of; None: none."""
        truth, found = row.result.truth, row.outcome.found
        if truth is None or found is None:
            return None
        since = truth.effects[self.since] if self.since else truth.onset
        return max(found.detected_at - since, 0.0)

    def delay_after_report(self, row: ScoredResult) -> float | None:
        """Return the seconds from the first report that can show the effect; None: not known."""
        truth, found = row.result.truth, row.outcome.found
        at = None if truth is None else truth.shown.get(self.since or ONSET)
        return None if at is None or found is None else max(found.detected_at - at, 0.0)

    def seconds_of(self, row: ScoredResult) -> float:
        steps = self.steps * row.result.step_seconds
        return self.seconds + steps if self.sum else max(self.seconds, steps)

    def granted(self, row: ScoredResult) -> float:
        """Return the limit of a case from the effect on, with the interval of its reports."""
        return self.seconds_of(row) + float(row.result.case.get("report_seconds", 0.0))


@cache
def limits() -> tuple[DelayLimit, ...]:
    """Return the limits of limits.toml."""
    package = __package__ or ""
    return tuple(tables.packaged(DelayLimit, package, "limits.toml", "limit", unique=False))


def delays(rows: Sequence[ScoredResult]) -> list[dict[str, Any]]:
    """Return by limit and fault: cases found, median and worst delay (s), the share within.

    after_report, within_after_report: median and share, counted from the first report that can show
    the effect.
    """
    document: list[dict[str, Any]] = []
    for limit in limits():
        cases = [row for row in rows if row.observable and limit.holds(row)]
        for fault, group in broken_down(cases, by_fault).items():
            found = [
                (delay, limit.granted(row))
                for row in group
                if (delay := limit.delay(row)) is not None
            ]
            seconds = [delay for delay, _ in found]
            after = [
                (delay, limit.seconds_of(row))
                for row in group
                if (delay := limit.delay_after_report(row)) is not None
            ]
            document.append(
                {
                    "limit": limit.name,
                    "fault": fault,
                    "cases": len(group),
                    "found": len(found),
                    "median": round(statistics.median(seconds), 2) if seconds else None,
                    "worst": round(max(seconds), 2) if seconds else None,
                    "within": sum(delay <= most for delay, most in found) / len(group),
                    "after_report": round(statistics.median(d for d, _ in after), 2)
                    if after
                    else None,
                    "within_after_report": sum(delay <= most for delay, most in after) / len(group),
                }
            )
    return document


def exhaustion(rows: Sequence[ScoredResult]) -> list[dict[str, Any]]:
    """Return by fault how far the predicted time to exhaustion is off when first reported.

    What is left is measured, so that the error is that of the growth: `measured` cases, median and
    worst relative error, and the share of them within MOST_ERROR.
    """
    document: list[dict[str, Any]] = []
    for fault, group in broken_down([row for row in rows if row.observable], by_fault).items():
        errors = [
            abs(truth.growth / found.growth - 1)
            for row in group
            if (truth := row.result.truth) is not None
            and (found := row.outcome.found) is not None
            and truth.growth
            and found.growth
        ]
        if errors:
            document.append(
                {
                    "fault": fault,
                    "measured": len(errors),
                    "median": round(statistics.median(errors), 4),
                    "worst": round(max(errors), 4),
                    "within": sum(error <= MOST_ERROR for error in errors) / len(errors),
                }
            )
    return document
