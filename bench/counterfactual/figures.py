"""Errors and coverage of many comparisons."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """One comparison and the truth of it, step times in seconds.

    right: whether the incident names the fault and where it is. now: the step time with the fault.
    truth: without it, as it really was. estimate, low, high: as the incident says.
    """

    name: str
    fault: str
    named: str
    right: bool
    basis: str
    now: float
    truth: float
    estimate: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Return the error of the estimate, as a share of the truth."""
        return abs(self.estimate - self.truth) / self.truth

    @property
    def covered(self) -> bool:
        """Return whether the interval holds the truth."""
        return self.low <= self.truth <= self.high

    @property
    def width(self) -> float:
        """Return half of the interval, as a share of the truth."""
        return (self.high - self.low) / 2 / self.truth


def summary(rows: Sequence[MeasuredCase]) -> dict[str, Any]:
    """Return the figures of some cases, shares as numbers between 0 and 1."""
    if not rows:
        return {"cases": 0}
    errors = np.array([row.error for row in rows])
    return {
        "cases": len(rows),
        "median_error": round(float(np.median(errors)), 4),
        "p90_error": round(float(np.quantile(errors, 0.9)), 4),
        "worst_error": round(float(errors.max()), 4),
        "covered": sum(row.covered for row in rows),
        "coverage": round(sum(row.covered for row in rows) / len(rows), 4),
        "median_half_width": round(float(np.median([row.width for row in rows])), 4),
        "median_slowdown": round(float(np.median([row.now / row.truth for row in rows])), 3),
    }


def groups(rows: Sequence[MeasuredCase]) -> dict[str, dict[str, Any]]:
    """Return the figures of all cases, by basis, and of those with the right cause."""
    named = {"all": rows, "right cause": [row for row in rows if row.right]}
    for basis in ("phases", "durations"):
        named[basis] = [row for row in rows if row.basis == basis]
        named[f"{basis}, right cause"] = [row for row in named[basis] if row.right]
    return {name: summary(some) for name, some in named.items()}


def lines(rows: Iterable[MeasuredCase]) -> str:
    """Return the cases as JSON lines."""
    return "".join(json.dumps(asdict(row)) + "\n" for row in rows)
