"""What one missing source costs: the same cases with every source reported, and without one.

Per source, over the cases whose fault the telemetry shows either way: how many are found, how often
the first cause is right and the true one among the first three (of those found), how often no cause
is named, and what speaks for that on average. A page of docs is written from it:
docs/missing-sources.md.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...vocabulary.faults import UNKNOWN
from ..suites import withheld
from ..suites.cases import SuiteCase
from . import figures, ranked
from .figures import ScoredResult
from .results import CaseResult
from .rows import Table
from .work import ScoringWork

PAGE = "missing-sources.md"
MOST_POINTS = 10.0
"""So many points of right first causes may one source cost."""

_COLUMNS = (
    "source withheld", "cases", "found", "first cause right", "points", "of the first three",
    "no cause named", "score of unknown",
)  # fmt: skip

_INTRODUCTION = f"""\
# What a missing source costs

The cases of a suite that report everything, run once more for each source with that source
withheld. Cases whose fault only that source shows are left out: nobody could find them. *First
cause right* and *of the first three* are shares of the cases found; *points* is how much the
first one changes (at most {MOST_POINTS:g} may be lost); *no cause named* is how often the answer is
`unknown`; *score of unknown* is what speaks for it on average (log-odds), named or not. Each pair
of figures is with and without the source. This page is written by the command below; do not edit
it.
"""


@dataclass(frozen=True, slots=True)
class RankingShares:
    """Shares in [0, 1] over some cases, NaN of none found; `score` is unknown's, in log-odds."""

    found: float
    first: float
    first_three: float
    unknown: float
    score: float


@dataclass(frozen=True, slots=True)
class SourceCost:
    """One source: over how many cases, and the shares with it and without it."""

    source: str
    cases: int
    given: RankingShares
    withheld: RankingShares

    @property
    def points(self) -> float:
        """Return by how many points of 100 first causes are right less often (negative) or more."""
        return 100 * (self.withheld.first - self.given.first)

    def document(self) -> dict[str, Any]:
        """Return it ready for JSON; NaN is None."""
        return {
            "source": self.source,
            "cases": self.cases,
            "points": _finite(self.points),
            "with": {name: _finite(getattr(self.given, name)) for name in RankingShares.__slots__},
            "without": {
                name: _finite(getattr(self.withheld, name)) for name in RankingShares.__slots__
            },
        }


def costs(results: Sequence[CaseResult]) -> list[SourceCost]:
    """Return the cost of every source in the results of `cases_of`, by name."""
    rows = figures.scored(results)
    by_source: dict[str, dict[str, ScoredResult]] = {}
    for row in rows:
        case = row.result.case
        by_source.setdefault(str(case["missing"]), {})[str(case["name"])] = row
    given = by_source.pop(withheld.COMPLETE, {})
    return [
        SourceCost(
            source,
            len(found),
            shares([given[name] for name in found if name in given]),
            shares(list(found.values())),
        )
        for source, found in sorted(by_source.items())
    ]


def shares(rows: Sequence[ScoredResult]) -> RankingShares:
    """Return the shares over some cases."""
    made = ranked.ranked(rows)
    found = [row.outcome.found for row in rows if row.outcome.found]
    scores = [seen.unknown for seen in found if seen.unknown is not None]
    unknown = sum(seen.fault == UNKNOWN for seen in found)
    return RankingShares(
        found=len(found) / len(rows) if rows else math.nan,
        first=made.first,
        first_three=made.first_three,
        unknown=unknown / len(found) if found else math.nan,
        score=statistics.fmean(scores) if scores else math.nan,
    )


def cases_of(
    cases: Sequence[SuiteCase], sources: Sequence[str], at_most: int | None = None
) -> list[SuiteCase]:
    """Return the complete cases, and each of them without each source. Raises SuiteError.

    With `at_most` so many complete cases, spread over the faults.
    """
    complete = withheld.complete(cases)
    if at_most is not None:
        complete = withheld.spread(complete, at_most)
    return complete + [case for source in sources for case in withheld.without(complete, source)]


def table(found: Sequence[SourceCost]) -> Table:
    rows = [
        (
            row.source,
            str(row.cases),
            _both(row.given.found, row.withheld.found),
            _both(row.given.first, row.withheld.first),
            f"{row.points:+.1f}" if math.isfinite(row.points) else "-",
            _both(row.given.first_three, row.withheld.first_three),
            _both(row.given.unknown, row.withheld.unknown),
            _both(row.given.score, row.withheld.score),
        )
        for row in found
    ]
    return "What a missing source costs", _COLUMNS, rows


def write(found: Sequence[SourceCost], command: str, folder: Path) -> Path:
    """Write the page; return its path. Raises OSError."""
    _, columns, rows = table(found)
    lines = [
        _INTRODUCTION,
        f"```\n{command}\n```\n",
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
    path = folder / PAGE
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def document(work: ScoringWork, results: Sequence[CaseResult], command: str) -> dict[str, Any]:
    """Return the costs as one JSON document."""
    return {
        "schema": "rankscope-sources-1",
        "command": command,
        "cases": len(work.cases),
        "sources": [row.document() for row in costs(results)],
        "errors": [str(row.case["name"]) for row in results if row.failed],
    }


def _both(one: float, other: float) -> str:
    return f"{_share(one)} / {_share(other)}"


def _share(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _finite(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None
