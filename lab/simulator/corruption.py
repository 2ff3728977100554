"""What silent corruption does to values: finite, wrong on one rank before the reduction."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .curves import StepLosses

Array = NDArray[np.float64]


def spoiled(
    values: StepLosses, relative: Array, random: np.random.Generator, *, reduced: bool
) -> StepLosses:
    """Return a step's values where ranks err by `relative`; `reduced`: the loss is the mean of all.

    A rank's wrong gradient is divided by the number of ranks in the mean: the norm hardly moves.
    """
    if not relative.any():
        return values
    world = len(relative)
    wrong = relative * (1 + 0.2 * random.standard_normal(world))
    loss = values.loss * (1 + (wrong.mean() if reduced else wrong))
    norm = values.grad_norm * float(np.sqrt(1 + (3 * np.abs(relative).max()) ** 2 / world))
    own = values.own_norm * (1 + 3 * np.abs(wrong))
    return replace(values, loss=loss, grad_norm=norm, global_loss=float(loss.mean()), own_norm=own)
