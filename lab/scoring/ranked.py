"""How good the ranking of causes is: first and first three, probabilities, cascades, two faults.

Over the cases that were found, unless something else is said. Shares are in [0, 1], NaN where there
is nothing to take a share of.

- first (AC@1): the first hypothesis has the true fault and the right entity; first_three (AC@3):
  one of the first three has. Unknown is a hypothesis like any other, and never right.
- confident_wrong: incidents above info, false ones included, whose first hypothesis is wrong and
  of high confidence, as a share of all incidents above info.
- calibration_error: of those that name a cause with a probability, in ten bins of probability, the
  mean distance between the mean probability and the share that is right, each weighing as many
  incidents as it has.
- unknown: incidents above info that name no cause, as a share of all of them.
- folded: cases in which the fault gave one incident above info and no second one.
- both_named: cases of two faults in which each is among the first three of some incident.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...vocabulary.faults import UNKNOWN
from . import placing
from .figures import ScoredResult
from .seen import CaseTruth, SeenIncident

BINS = 10


@dataclass(frozen=True, slots=True)
class RankingFigures:
    """The figures of the ranking; the module says what each is."""

    incidents: int
    first: float
    first_three: float
    confident_wrong: float
    calibration_error: float
    unknown: float
    folded: float
    pairs: int
    both_named: float

    def document(self) -> dict[str, Any]:
        """Return them ready for JSON: NaN is None, six significant digits."""
        return {
            name: value
            if isinstance(value, int)
            else float(f"{value:.6g}")
            if math.isfinite(value)
            else None
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """The first hypotheses with a probability in [low, high): how many, and how many are right."""

    low: float
    high: float
    count: int
    probability: float
    right: float


def ranked(rows: Sequence[ScoredResult]) -> RankingFigures:
    """Return the figures over these cases."""
    found = [row for row in rows if row.observable and row.outcome.found]
    answers = [answer for row in rows for answer in _answers(row)]
    pairs = [row for row in rows if row.result.also]
    wrong = sum(not right and seen.named[0].confidence == "high" for seen, right in answers)
    return RankingFigures(
        incidents=len(answers),
        first=_share(sum(row.outcome.right_cause for row in found), len(found)),
        first_three=_share(sum(_in_three(row) for row in found), len(found)),
        confident_wrong=_share(wrong, len(answers)),
        calibration_error=calibration_error(bins(rows)),
        unknown=_share(sum(seen.fault == UNKNOWN for seen, _ in answers), len(answers)),
        folded=_share(sum(not row.outcome.duplicates for row in found), len(found)),
        pairs=len(pairs),
        both_named=_share(sum(_both(row) for row in pairs), len(pairs)),
    )


def bins(rows: Sequence[ScoredResult]) -> list[CalibrationBin]:
    """Return the first hypotheses that name a cause, by their probability; empty bins left out."""
    pairs = [
        (seen.named[0].probability, right)
        for row in rows
        for seen, right in _answers(row)
        if seen.fault != UNKNOWN and seen.named[0].probability is not None
    ]
    return binned(pairs)


def binned(pairs: Sequence[tuple[float, bool]]) -> list[CalibrationBin]:
    """Return pairs of a probability and whether it came true, in bins of equal width."""
    found: list[CalibrationBin] = []
    for number in range(BINS):
        inside = [row for row in pairs if min(int(row[0] * BINS), BINS - 1) == number]
        if inside:
            count = len(inside)
            mean = math.fsum(chance for chance, _ in inside) / count
            right = sum(right for _, right in inside) / count
            found.append(CalibrationBin(number / BINS, (number + 1) / BINS, count, mean, right))
    return found


def calibration_error(found: Sequence[CalibrationBin]) -> float:
    """Return the expected calibration error, NaN of no bins."""
    total = sum(row.count for row in found)
    return _share(sum(row.count * abs(row.probability - row.right) for row in found), total)


def named(seen: SeenIncident, truth: CaseTruth) -> bool:
    """Return whether a fault is among the first hypotheses of an incident."""
    return any(
        row.fault == truth.fault and placing.at_fault(row.entity, truth) for row in seen.named
    )


def _answers(row: ScoredResult) -> list[tuple[SeenIncident, bool]]:
    """Return the incidents above info with hypotheses, and whether the first one is right.

    What a fault whose telemetry hides it gave is left out: no answer there can be right.
    """
    if row.faulty and not row.observable:
        return []
    outcome, truths = row.outcome, row.truths
    every = (*((outcome.found,) if outcome.found else ()), *outcome.duplicates, *outcome.false)
    return [
        (
            seen,
            any(seen.fault == t.fault and placing.right(seen, t) for t in truths),
        )
        for seen in every
        if seen.named
    ]


def _in_three(row: ScoredResult) -> bool:
    found, truth = row.outcome.found, row.result.truth
    return row.outcome.right_cause or (
        found is not None and truth is not None and named(found, truth)
    )


def _both(row: ScoredResult) -> bool:
    return all(any(named(seen, truth) for seen in row.incidents) for truth in row.truths)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
