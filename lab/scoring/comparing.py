"""Two results of `rankscope lab score --json` side by side."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from .document import SCHEMA
from .results import PIPELINE
from .rows import Table

SHARES = (
    "precision", "recall", "f1", "right_entity", "exact_entity", "right_cause",
    "wrong_accusations",
)  # fmt: skip
"""What is compared: shares, in points of a hundredth."""


_DIFFER = {"suite": "suite", "seed": "seed", "only": "--only", "cases": "number of cases"}
"""In what the cases of two results can differ, as the title says it."""


class CompareError(ValueError):
    """A file that is no result; the text names it."""


@dataclass(frozen=True, slots=True)
class FigureDifference:
    """One figure of two results; NaN where one of them has none."""

    name: str
    first: float
    second: float

    @property
    def points(self) -> float:
        """Return how many points the second is above the first."""
        return 100.0 * (self.second - self.first)

    def within(self, points: float) -> bool:
        """Return whether they differ by no more than so many points."""
        if math.isnan(self.first) or math.isnan(self.second):
            return math.isnan(self.first) and math.isnan(self.second)
        return abs(self.points) <= points + 1e-9


def load(path: Path) -> Mapping[str, Any]:
    """Return the result in a file. Raises CompareError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompareError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise CompareError(f"{path}: not JSON ({error})") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CompareError(f"{path}: not a result of `rankscope lab score --json`")
    if not document["cases"]:
        raise CompareError(f"{path}: a result of no cases, which compares with nothing")
    return document


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[FigureDifference]:
    """Return every share of the detectors' own row in both results."""
    one, other = first["methods"].get(PIPELINE, {}), second["methods"].get(PIPELINE, {})
    return [
        FigureDifference(name, _number(one.get(name)), _number(other.get(name))) for name in SHARES
    ]


def made_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return which cases a result is about: suite, seed, the faults of --only, how many cases."""
    words = shlex.split(str(document["command"]))
    return {
        "suite": document["suite"],
        "seed": document["seed"],
        "only": [after for word, after in pairwise(words) if word == "--only"],
        "cases": document["cases"],
    }


def table(
    first: Mapping[str, Any],
    second: Mapping[str, Any],
    rows: Sequence[FigureDifference],
    points: float,
) -> Table:
    """Return the differences as a table; its title says in what the cases themselves differ."""
    one, other = made_of(first), made_of(second)
    apart = [label for name, label in _DIFFER.items() if one[name] != other[name]]
    title = f"Comparison of different cases: other {', '.join(apart)}" if apart else "Comparison"
    lines = [
        (
            row.name.replace("_", " "),
            _share(row.first, "{:.3f}"),
            _share(row.second, "{:.3f}"),
            _share(row.points, "{:+.1f}"),
            _verdict(row, points),
        )
        for row in rows
    ]
    return title, ("share", _heading(one), _heading(other), "points", ""), lines


def _heading(made: Mapping[str, Any]) -> str:
    only = "".join(f" --only {name}" for name in made["only"])
    cases = f"{made['cases']} case{'' if made['cases'] == 1 else 's'}"
    return f"{made['suite']} (seed {made['seed']}){only}, {cases}"


def _verdict(row: FigureDifference, points: float) -> str:
    if row.within(points):
        return ""
    return "in one of them only" if math.isnan(row.points) else f"more than {points:g}"


def _share(value: float, form: str) -> str:
    return "-" if math.isnan(value) else form.format(value)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
