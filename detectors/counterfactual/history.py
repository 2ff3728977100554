"""What was before an onset as a prediction of what would be now: its mean, and how far it strays.

Blocks of steps, not single steps: what makes one step long (a neighbour, the clock, the shape of
batches) mostly makes the next one long too.
"""

import math
from dataclasses import dataclass

import numpy as np

from ...vocabulary.counterfactuals import StepTimeWithout
from ..arrays import Floats

BLOCK = 8
"""Steps of a block."""

FEWEST = 8
"""Steps before the onset without which nothing is predicted."""

T_90 = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76, 1.75)
"""Half-width of a 90 % interval in standard errors, by degrees of freedom from 1 (Student's t)."""

NORMAL_90 = 1.645

LONG = 5.0
"""Steps so many times longer than the median hold something else: a compilation, a checkpoint."""


@dataclass(frozen=True, slots=True)
class PredictedMean:
    """The mean of some steps to come, and half of its 90 % interval."""

    mean: float
    margin: float

    @property
    def known(self) -> bool:
        """Return whether both are numbers: of steps that few ranks report they may not be."""
        return math.isfinite(self.mean) and math.isfinite(self.margin)

    def no_longer_than(self, step: float) -> StepTimeWithout:
        """Return it with its interval, as of steps that take so long (s) now."""
        mean = min(self.mean, step)
        low, high = self.mean - self.margin, self.mean + self.margin
        return StepTimeWithout(mean, max(min(low, mean), 0.0), max(high, mean))


def predicted(before: Floats, count: int) -> PredictedMean | None:
    """Return the mean of `count` steps that come after these, [steps]; None: too few are known.

    Its error has three parts: blocks before and after stray by chance, and the level itself drifts,
    as far as it did before.
    """
    known = before[np.isfinite(before)]
    if len(known) < FEWEST:
        return None
    size = min(BLOCK, max(len(known) // 4, 1))
    rows = known[-(len(known) // size * size) :].reshape(-1, size)
    blocks = rows.mean(axis=1)
    after = max(count, 1) / size
    # Of a block: what single steps stray by within it, at least what blocks differ by.
    single = float(rows.var(axis=1, ddof=1).mean()) / size if size > 1 else 0.0
    chance = max(float(blocks.var(ddof=1)), single) * (1 / len(blocks) + 1 / after)
    drift = _drift(blocks, single) * (len(blocks) + after) / 3
    freedom = len(blocks) - 1
    wide = T_90[freedom - 1] if freedom <= len(T_90) else NORMAL_90
    return PredictedMean(float(known.mean()), wide * math.sqrt(chance + drift))


def _drift(blocks: Floats, single: float) -> float:
    """Return by how much variance the level grows from block to block, as a random walk does.

    blocks: their means. single: the variance that each has by chance. Seen over half of the blocks,
    which shows a slow drift, and from one to the next.
    """
    grown = []
    for apart in {1, max(len(blocks) // 2, 1)}:
        between = blocks[apart:] - blocks[:-apart]
        grown.append((float((between**2).mean()) - 2 * single) / apart)
    return max(*grown, 0.0)


def without_long(values: Floats) -> Floats:
    """Return values, [steps], with NaN for those that hold something else than a step."""
    known = values[np.isfinite(values)]
    if not len(known):
        return values
    most = LONG * float(np.median(known))
    return np.where(values <= most, values, np.nan)
