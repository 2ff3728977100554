"""Loss, gradient norm and learning rate over the steps of a healthy run."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(slots=True)
class ValueCurve:
    """A power law of the steps with noise; from `flat_from` (seconds) on nothing is learnt."""

    start: float
    floor: float
    power: float
    noise: float
    rank_noise: float
    norm: float
    norm_noise: float
    rate: float
    warmup: int
    total: int
    scale: float
    global_loss: bool
    flat_from: float = math.inf

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, started: bool) -> Self:
        """Draw a run; one that was already running is past its warm-up."""
        floor = float(rng.uniform(1.6, 2.6))
        return cls(
            start=float(rng.uniform(8.0, 11.5)),
            floor=floor,
            power=float(rng.uniform(0.25, 0.5)),
            noise=float(rng.uniform(0.004, 0.03)),
            rank_noise=float(rng.uniform(0.01, 0.05)),
            norm=float(rng.uniform(0.2, 2.0)),
            norm_noise=float(rng.uniform(0.04, 0.2)),
            rate=float(np.exp(rng.uniform(np.log(5e-5), np.log(6e-4)))),
            warmup=int(rng.integers(50, 2000)),
            total=int(rng.integers(20_000, 400_000)) * (10 if started else 1),
            scale=float(2 ** rng.integers(12, 17)) if rng.random() < 0.3 else 0.0,
            global_loss=bool(rng.random() < 0.4),
        )

    def loss(self, steps: np.ndarray) -> np.ndarray:
        return self.floor + (self.start - self.floor) * (1.0 + steps / 6.0) ** -self.power

    def grad_norm(self, steps: np.ndarray) -> np.ndarray:
        """Return the noiseless gradient norm at steps: high at first."""
        return self.norm * (1.0 + 6.0 * np.exp(-steps / 60.0))

    def learning_rate(self, steps: np.ndarray) -> np.ndarray:
        """Return the rate: linear warm-up, then a cosine."""
        warm = np.minimum(1.0, (steps + 1.0) / self.warmup)
        done = np.clip((steps - self.warmup) / max(1, self.total), 0.0, 1.0)
        return self.rate * warm * (0.55 + 0.45 * np.cos(np.pi * done))
