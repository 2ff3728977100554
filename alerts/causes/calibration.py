"""Scores as probabilities: how often a hypothesis with such a lead over the others is right.

P(hypothesis) is the softmax of score / temperature over every candidate and `unknown`. The
temperature is fitted to the laboratory's cases (`rankscope lab learn`) and stands in catalogue.toml
with the version of the cases; without it a probability is not called one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...vocabulary.incidents import Confidence


@dataclass(frozen=True, slots=True)
class Calibration:
    """`temperature` in nats; a probability of `high` is called high confidence, of `medium` medium.

    `cases`: what it was fitted to.
    """

    temperature: float
    high: float
    medium: float
    cases: str = ""

    def confidence(self, probability: float) -> Confidence:
        """Return the word for a probability."""
        if probability >= self.high:
            return "high"
        return "medium" if probability >= self.medium else "low"


UNCALIBRATED = Calibration(temperature=1.0, high=0.9, medium=0.6)
"""What confidence follows from where a catalogue has no calibration."""


def probabilities(scores: Sequence[float], temperature: float) -> list[float]:
    """Return the softmax of scores in nats; empty for none."""
    most = max(scores, default=0.0)
    powers = [math.exp((score - most) / temperature) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]
