"""What a job computes: loss, gradient norm, learning rate; and what spoils them.

The model has one hidden state, how far it is trained, which grows with the learning rate; the loss
follows from it. A spike pushes the model off and lets it come back, or not; a divergence drives it
off ever further; without a learning rate nothing moves. A non-finite value of one rank is every
rank's after the reduction, unless a guard skips the update.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .conditions import NO_POISON, POISONS_LOSS
from .effects import NumericEffects
from .shape import SimulatedJob

Array = NDArray[np.float64]
DOUBLES_AFTER = 2_000
ELEMENTS = 4_096
"""How many gradient elements one bad activation spoils in the simulated model."""
_NORM_SPREAD = 0.12
_OWN_NORM = 1.35
"""A rank's own gradient is noisier than the mean of all: its norm is larger."""


@dataclass(frozen=True, slots=True)
class StepLosses:
    """One step's values: arrays over ranks; the scalars are the same on every rank."""

    tokens: Array
    loss: Array
    grad_norm: float
    learning_rate: float
    bad_loss: Array
    bad_local: Array
    bad_reduced: float
    loss_scale: float = 0.0
    global_loss: float = math.nan
    own_norm: Array = field(default_factory=lambda: np.zeros(0))


class TrainingCurve:
    """The values of a job, step after step; a spoiled model stays spoiled over its attempt."""

    def __init__(
        self,
        job: SimulatedJob,
        world: int,
        random: np.random.Generator,
        *,
        first_step: int = 0,
        resumed: bool = False,
    ) -> None:
        """Start healthy, for this many ranks, as far trained as `first_step` says."""
        self._resumed = resumed
        self._job, self._world, self._random = job, world, random
        self._spoiled = False
        self._scale, self._since_overflow = job.loss_scale, 0
        self._trained = float(first_step)
        self._lost = False
        self._off, self._kicked = 0.0, False
        self._diverged, self._exploded, self._vanished = 0.0, 0.0, 0.0
        self._benign = 0.0
        self._drift = np.zeros(world)

    def values(
        self,
        step: int,
        tokens: Array,
        poison: NDArray[np.int64],
        numerics: NumericEffects | None = None,
        drift: Array | None = None,
    ) -> StepLosses:
        """Return what the ranks see at this step; `poison` says whose own values go bad now.

        `drift` (over ranks) is the growth of a replica's own loss per step.
        """
        random, world, job = self._random, self._world, self._job
        numerics = numerics or NumericEffects()
        rate = self._rate(step) * numerics.rate
        level, norm = self._moved(numerics, rate, step)
        if drift is not None:
            self._drift += drift
        # The loss of a batch is a mean over its tokens: fewer tokens, more noise.
        spread = job.loss_noise * np.sqrt(job.tokens / np.maximum(tokens, 1.0))
        loss = level * (1 + random.normal(0, 1, world) * spread) * (1 + self._drift)
        own = norm * _OWN_NORM * random.lognormal(0, 0.1, world) * (1 + 3 * self._drift)
        if random.random() < 0.0008:
            norm *= 4.0  # a hard batch: clipped, and forgotten
        poisoned = poison != NO_POISON
        bad_local = np.where(poisoned, float(ELEMENTS), 0.0)
        bad_loss = np.where(poison == POISONS_LOSS, 1.0, 0.0)
        if self._spoiled:
            bad_local, bad_loss = np.full(world, float(10 * ELEMENTS)), np.ones(world)
        loss = np.where(bad_loss > 0, np.nan, loss)
        own = np.where(bad_local > 0, np.nan, own)
        mean = float(loss.mean())
        if job.loss_scope == "global":
            loss = np.full(world, mean)
            bad_loss = np.ones(world) if bad_loss.any() else bad_loss
        bad = float(bad_local.max())
        if bad:
            norm = float("nan")
            # A guard (loss scaler, skipped update) drops the step: the weights stay sound.
            self._spoiled = self._spoiled or not job.guards_numerics
        scale = self._scale
        if scale > 0 and self._overflows(numerics) and not bad:
            bad_local, bad, norm = np.full(world, float(ELEMENTS)), float(ELEMENTS), float("inf")
            own = np.full(world, float("inf"))
        return StepLosses(tokens, loss, norm, rate, bad_loss, bad_local, bad, scale, mean, own)

    def _moved(self, numerics: NumericEffects, rate: float, step: int) -> tuple[float, float]:
        """Train for one step; return the level of the loss and the norm of the gradient."""
        job, random = self._job, self._random
        if numerics.lost and self._resumed and not self._lost:
            self._lost = True
            self._trained *= 1 - numerics.lost
        usual = max(self._rate(step), 1e-12)
        moves = self._vanished > -4 and not numerics.frozen
        self._trained += min(rate / usual, 1.0) if moves else 0.0
        if numerics.spike and not self._kicked:
            self._kicked, self._off = True, numerics.spike
        if self._kicked:
            self._off *= math.exp(-1 / numerics.spike_steps) if numerics.spike_steps else 0.0
        self._benign *= 0.35
        if job.loss_spikes and random.random() < job.loss_spikes:
            self._benign = float(random.uniform(0.08, 0.5))
        self._diverged = min(self._diverged + numerics.divergence * (1 + self._diverged), 8.0)
        self._exploded = min(self._exploded + math.log1p(numerics.explosion), 60.0)
        self._vanished = max(self._vanished - numerics.vanishing, -18.0)
        start, floor = job.loss_start, job.loss_floor
        level = floor + (start - floor) * (1 + self._trained / job.loss_steps) ** -job.loss_power
        # Steps too large for the clipping to hold throw the model off.
        thrown = 0.02 * max(self._exploded - 3.0, 0.0) ** 2
        wrong = numerics.wrong_data * self._resumed
        off = self._off + self._benign + self._diverged + thrown + wrong
        level = min(level * (1 + off), 1.6 * start)
        norm = (0.6 + 2.0 * (1 + self._trained / 30) ** -0.5) * float(
            random.lognormal(0, _NORM_SPREAD)
        )
        norm *= 1 + 4 * (self._off + self._benign) + 2 * self._diverged + wrong
        return level, norm * math.exp(self._exploded + self._vanished)

    def _rate(self, step: int) -> float:
        """Return the learning rate that the schedule gives this step."""
        job = self._job
        warm = min(1.0, (step + 1) / 200)
        done = min(step / job.rate_steps, 1.0)
        if job.rate_schedule == "cosine":
            return job.rate * warm * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))
        if job.rate_schedule == "steps":
            return job.rate * warm * 0.1 ** math.floor(3 * done)
        return job.rate * warm

    def _overflows(self, numerics: NumericEffects) -> bool:
        """Tell whether this step overflows under loss scaling, which then skips it and halves.

        Two thousand steps without one double the scale again, until it no longer fits.
        """
        if numerics.overflows:
            self._since_overflow = 0
            if self._scale <= 1.0:
                # Nothing left to halve: the update is taken as it is.
                self._spoiled = True
            self._scale = max(self._scale / 2, 1.0)
            return True
        if self._scale > self._job.loss_scale_fits:
            self._scale, self._since_overflow = self._scale / 2, 0
            return True
        self._since_overflow += 1
        if self._since_overflow >= DOUBLES_AFTER:
            self._scale, self._since_overflow = self._scale * 2, 0
        return False
