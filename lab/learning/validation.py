"""Whether learning helps where it has not looked: faults and shapes held out in turn.

Examples are split by what they are held out by (fault id, or shape of the cluster); each part is
ranked with what was learned from the others. The same examples give the same parts.
"""

import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ...alerts.causes.catalogue import Catalogue
from ...vocabulary.faults import UNKNOWN
from ..scoring import ranked
from . import fitting
from .examples import Example
from .fitting import Fit, Packed, Sharing

Floats = NDArray[np.float64]
PARTS = 6

HELD_OUT: dict[str, Callable[[Example], str]] = {
    "fault": lambda example: example.fault,
    "shape": lambda example: example.shape,
}


@dataclass(frozen=True, slots=True)
class HeldOut:
    """What came of the examples that were held out, all parts together.

    `loss`: mean negative log-likelihood of a case in nats. `first`: share of evaluations whose
    first hypothesis is right, each case weighing 1. `calibration_error`: of first hypotheses that
    name a cause, at `temperature`, which fits these examples best.
    """

    loss: float
    first: float
    calibration_error: float
    temperature: float


@dataclass(frozen=True, slots=True)
class Learner:
    """How to learn; None: keep the numbers, and fit the temperature alone."""

    sharing: Sharing | None
    shrinkage: float = 0.0
    fixed: Collection[str] = ()

    def __str__(self) -> str:
        if self.sharing is None:
            return "numbers as they are"
        return f"{self.sharing} multipliers, shrinkage {self.shrinkage:g}"

    def learn(self, examples: Sequence[Example], knowledge: Catalogue) -> Fit:
        """Return what is learned from examples."""
        if self.sharing is None:
            return Fit({}, 1.0, 0.0)
        return fitting.fit(
            examples, knowledge, sharing=self.sharing, shrinkage=self.shrinkage, fixed=self.fixed
        )


def held_out(
    examples: Sequence[Example], knowledge: Catalogue, learner: Learner, by: str
) -> HeldOut:
    """Return how well a learner does on examples that are held out by fault or by shape."""
    ranks: list[tuple[Packed, Floats]] = []
    for kept, left in parts(examples, HELD_OUT[by]):
        ranks.append(scored(left, knowledge, learner.learn(kept, knowledge)))
    cases = sum(data.cases for data, _ in ranks)

    def loss(log_temperature: float) -> float:
        temperature = float(np.exp(log_temperature))
        return sum(_loss(data, score, temperature) for data, score in ranks) / cases

    best = optimize.minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded")
    temperature = float(np.exp(best.x))
    answers = [row for data, score in ranks for row in firsts(data, score, temperature)]
    named = [(chance, right) for chance, right, fault, _ in answers if fault != UNKNOWN]
    total = sum(weight for *_, weight in answers)
    return HeldOut(
        loss=float(best.fun),
        first=sum(weight * right for _, right, _, weight in answers) / total,
        calibration_error=ranked.calibration_error(ranked.binned(named)),
        temperature=temperature,
    )


def parts(
    examples: Sequence[Example], by: Callable[[Example], str]
) -> list[tuple[list[Example], list[Example]]]:
    """Return (kept, held out) for each part."""
    groups = sorted(
        {by(row) for row in examples}, key=lambda name: (zlib.crc32(name.encode()), name)
    )
    found: list[tuple[list[Example], list[Example]]] = []
    for number in range(min(PARTS, len(groups))):
        out = set(groups[number::PARTS])
        kept = [row for row in examples if by(row) not in out]
        left = [row for row in examples if by(row) in out]
        found.append((kept, left))
    return found


def scored(examples: Sequence[Example], knowledge: Catalogue, made: Fit) -> tuple[Packed, Floats]:
    """Return examples in columns and the score of each candidate with what was learned."""
    names = fitting.names(knowledge, "single")
    columns = {parameter: number for number, parameter in enumerate(sorted(names))}
    multipliers = np.array([made.multipliers.get(parameter, 1.0) for parameter in sorted(names)])
    data = fitting.packed(examples, knowledge, columns)
    return data, fitting.scores(data, multipliers, knowledge.weights.family_cap)[0]


def firsts(data: Packed, score: Floats, temperature: float) -> list[tuple[float, bool, str, float]]:
    """Return probability, whether it is right, fault and weight of each first hypothesis."""
    chance = fitting.probabilities(data, score, temperature)
    first = np.lexsort((-score, data.snapshot))
    first = first[np.append(True, np.diff(data.snapshot[first]) > 0)]
    return [
        (float(chance[at]), bool(data.right[at]), data.faults[at], float(weight))
        for at, weight in zip(first.tolist(), data.weight, strict=True)
    ]


def _loss(data: Packed, score: Floats, temperature: float) -> float:
    chance = fitting.probabilities(data, score, temperature)
    of_right = np.bincount(data.snapshot, weights=chance * data.right, minlength=len(data.weight))
    return float(-(data.weight * np.log(np.maximum(of_right, 1e-12))).sum())
