"""Scores as probabilities: how often a first cause with such a lead over the others is right.

The first cause's probability follows from its lead (nats) over the next cause at another place, or
unknown: a curve that never falls, fitted by `python -m bench.calibration` to cases that nobody
tuned on, in catalogue.toml with the seeds of those cases. What is left is shared among the others
by the softmax of score / temperature, none above the first, and unknown. Without a curve a
probability is not called one.

An answer that rests on one sign alone, or is given where nothing was fitted (reach.py), loses part
of its lead first; outside, confidence is never high.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...vocabulary.entities import Entity
from ...vocabulary.faults import UNKNOWN
from ...vocabulary.incidents import Confidence, Hypothesis
from .reach import NOWHERE, AnswerSetting, CalibratedReach

MOST_DOUBT = 2.0
"""Nats that distance costs at the most. A job of 16,384 ranks is seven doublings away, and has more
healthy peers to compare with, not fewer: a cause that leads by far is still probable there."""

Curve = tuple[tuple[float, float], ...]
"""(lead in nats, probability), both rising; in between straight, beyond the ends level."""


@dataclass(frozen=True, slots=True)
class ProbabilityCalibration:
    """`temperature` in nats; a probability of `high` is called high confidence, of `medium` medium.

    `cases`: what it was fitted to. `lone`: nats that one sign alone costs an answer; `far`: nats
    that each doubling beyond `reach` costs it.
    """

    temperature: float
    high: float
    medium: float
    cases: str = ""
    curve: Curve = ()
    lone: float = 0.0
    far: float = 0.0
    reach: CalibratedReach | None = None

    def beyond(self, setting: AnswerSetting) -> float:
        """Return by how many doublings a setting lies outside all that was fitted to."""
        return 0.0 if self.reach is None else self.reach.beyond(setting)

    def doubt(self, setting: AnswerSetting) -> float:
        """Return by how many nats an answer under a setting leads less than its scores say."""
        away = min(self.far * self.beyond(setting), MOST_DOUBT)
        return away + (self.lone if setting.signs == 1 else 0.0)

    def probabilities(
        self,
        scores: Sequence[float],
        unknown: float,
        *,
        lead: float | None,
        setting: AnswerSetting = NOWHERE,
    ) -> tuple[list[float], float]:
        """Return the probability of each candidate, in their order, and of unknown.

        `lead` is that of the first candidate, None where unknown beats it; `setting` that of it.
        """
        every = [*scores, unknown]
        if lead is None or not self.curve:
            chances = softmax(every, self.temperature)
            if lead is not None:  # the first answer may be first for more than its score
                chances[0] = max(chances[:-1])
            return chances[:-1], chances[-1]
        first = at(self.curve, lead - self.doubt(setting))
        rest = [chance * (1 - first) for chance in softmax(every[1:], self.temperature)]
        # Where two lead by nothing, each is as probable as that says, and unknown has the rest.
        others = [min(chance, first) for chance in rest[:-1]]
        return [first, *others], 1 - first - math.fsum(others)

    def confidence(
        self, fault: str, probability: float, setting: AnswerSetting = NOWHERE
    ) -> Confidence:
        """Return the word for a probability; unknown claims nothing, and so is never sure.

        Neither is what is said where nothing was ever fitted.
        """
        if fault == UNKNOWN:
            return "low"
        if probability >= self.high and not self.beyond(setting):
            return "high"
        return "medium" if probability >= self.medium else "low"


UNCALIBRATED = ProbabilityCalibration(temperature=1.0, high=0.9, medium=0.6)
"""What confidence follows from where a catalogue has no calibration."""


def lead(rows: Sequence[Hypothesis], unknown: float, also: Sequence[Entity] = ()) -> float:
    """Return by how much (nats) the first hypothesis, a named one, leads the next and unknown.

    The same fault at a place that overlaps is no other answer, nor of a group at one that the
    answer names as well (`also`): a popular expert shows in every expert group.
    """
    first, *others = rows
    rivals = (row.score for row in others if not same(first, row) and not _at(first, row, also))
    return first.score - max([unknown, *rivals])


def _at(first: Hypothesis, row: Hypothesis, places: Sequence[Entity]) -> bool:
    if first.fault != row.fault or first.entity.type != "group":
        return False
    return any(overlap(row.entity, place) for place in places)


def same(one: Hypothesis, other: Hypothesis) -> bool:
    """Return whether two hypotheses are one fault at places that overlap."""
    return one.fault == other.fault and overlap(one.entity, other.entity)


def overlap(one: Entity, other: Entity) -> bool:
    """Return whether two places share a rank; a job shares with everything."""
    if "job" in (one.type, other.type):
        return True
    few, many = sorted((one.ranks, other.ranks), key=len)
    return any(rank in many for rank in few)


def at(curve: Curve, lead: float) -> float:
    if lead <= curve[0][0]:
        return curve[0][1]
    for (low, start), (high, end) in itertools.pairwise(curve):
        if lead <= high:
            return start + (end - start) * (lead - low) / (high - low)
    return curve[-1][1]


def softmax(scores: Sequence[float], temperature: float) -> list[float]:
    """Return the softmax of scores in nats; empty for none."""
    most = max(scores, default=0.0)
    powers = [math.exp((score - most) / temperature) for score in scores]
    total = math.fsum(powers)
    return [power / total for power in powers]
