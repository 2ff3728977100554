"""Two results of `rankscope lab score --json` side by side."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .document import SCHEMA
from .results import PIPELINE

SHARES = (
    "precision", "recall", "f1", "right_entity", "exact_entity", "right_cause",
    "wrong_accusations",
)  # fmt: skip
"""What is compared: shares, in points of a hundredth."""


class CompareError(ValueError):
    """A file that is no result; the text names it."""


@dataclass(frozen=True, slots=True)
class Difference:
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
    return document


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    """Return every share of the detectors' own row in both results."""
    one, other = first["methods"].get(PIPELINE, {}), second["methods"].get(PIPELINE, {})
    return [Difference(name, _number(one.get(name)), _number(other.get(name))) for name in SHARES]


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
