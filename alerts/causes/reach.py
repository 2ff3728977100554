"""Under what an answer is given, and how far that is from all that probabilities were fitted to."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerSetting:
    """Under what an answer is given; 0 where that is not known.

    `ranks` of the job; `interval` in seconds between two reports of its hosts; `coverage`: share of
    what its causes predict that some source could show; `signs`: families of findings that support
    the answer.
    """

    ranks: int = 0
    interval: float = 0.0
    coverage: float = 0.0
    signs: int = 0


NOWHERE = AnswerSetting()
"""Of which nothing is known."""


@dataclass(frozen=True, slots=True)
class CalibratedReach:
    """The settings of the cases that probabilities were fitted to: from least to most."""

    ranks: tuple[float, float]
    interval: tuple[float, float]
    coverage: float

    def beyond(self, setting: AnswerSetting) -> float:
        """Return by how many doublings and halvings in all a setting lies outside; 0: inside."""
        away = _outside(setting.ranks, self.ranks) + _outside(setting.interval, self.interval)
        return away + _outside(setting.coverage, (self.coverage, 1.0))


def _outside(value: float, within: tuple[float, float]) -> float:
    low, high = within
    if not value > 0:
        return 0.0
    return max(math.log2(low / value), math.log2(value / high), 0.0)
