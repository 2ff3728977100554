"""What a job computes: loss, gradient norm, learning rate; and what a non-finite value does."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .conditions import NO_POISON, POISONS_LOSS
from .shape import Job

Array = NDArray[np.float64]
DOUBLES_AFTER = 2_000
ELEMENTS = 4_096
"""How many gradient elements one bad activation spoils in the simulated model."""


@dataclass(frozen=True, slots=True)
class Values:
    """One step's values: arrays over ranks; the scalars are the same on every rank."""

    tokens: Array
    loss: Array
    grad_norm: float
    learning_rate: float
    bad_loss: Array
    bad_local: Array
    bad_reduced: float
    loss_scale: float = 0.0


class Curve:
    """The values of a job, step after step; a spoiled model stays spoiled over its attempt."""

    def __init__(self, job: Job, world: int, random: np.random.Generator) -> None:
        """Start healthy, for this many ranks."""
        self._job, self._world, self._random = job, world, random
        self._spoiled = False
        self._scale, self._since_overflow = job.loss_scale, 0

    def values(self, step: int, tokens: Array, poison: NDArray[np.int64]) -> Values:
        """Return what the ranks see at this step; `poison` says whose own values go bad now."""
        random, world = self._random, self._world
        level = 1.8 + 8.5 * (1 + step / 40) ** -0.45
        loss = level * (1 + random.normal(0, 0.02, world))
        if self._job.loss_scope == "global":
            loss = np.full(world, loss.mean())
        norm = (0.6 + 2.0 * (1 + step / 30) ** -0.5) * float(random.lognormal(0, 0.12))
        if random.random() < 0.0008:
            norm *= 4.0  # a hard batch: clipped, and forgotten
        poisoned = poison != NO_POISON
        bad_local = np.where(poisoned, float(ELEMENTS), 0.0)
        bad_loss = np.where(poison == POISONS_LOSS, 1.0, 0.0)
        if self._spoiled:
            bad_local, bad_loss = np.full(world, float(10 * ELEMENTS)), np.ones(world)
        loss = np.where(bad_loss > 0, np.nan, loss)
        if self._job.loss_scope == "global" and bad_loss.any():
            loss = np.full(world, np.nan)
            bad_loss = np.ones(world)
        bad = float(bad_local.max())
        if bad:
            norm = float("nan")
            # A guard (loss scaler, skipped update) drops the step: the weights stay sound.
            self._spoiled = self._spoiled or not self._job.guards_numerics
        rate = 3e-4 * min(1.0, (step + 1) / 200)
        scale = self._scale
        if scale > 0 and self._overflows() and not bad:
            bad_local, bad, norm = np.full(world, float(ELEMENTS)), float(ELEMENTS), float("inf")
        return Values(tokens, loss, norm, rate, bad_loss, bad_local, bad, scale)

    def _overflows(self) -> bool:
        """Tell whether this step overflows under loss scaling, which then skips it and halves.

        Two thousand steps without one double the scale again, until it no longer fits.
        """
        if self._scale > self._job.loss_scale_fits:
            self._scale, self._since_overflow = self._scale / 2, 0
            return True
        self._since_overflow += 1
        if self._since_overflow >= DOUBLES_AFTER:
            self._scale, self._since_overflow = self._scale * 2, 0
        return False
