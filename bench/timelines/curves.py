"""Loss, gradient norm, learning rate and loss scale over the steps of a job."""

import math
from dataclasses import dataclass
from random import Random


@dataclass(slots=True)
class LossCurve:
    """A kind of run, and the switches that faults set. `broken_from`: a step; inf: never."""

    kind: str
    start: float
    floor: float
    steps: float
    noise: float
    norm: float
    rate: float
    warmup: int
    clip: float
    scale: float
    seed: int
    restarts: int = 0
    outlier_every: int = 0
    broken: str = ""
    broken_from: float = math.inf
    strength: float = 1.0

    def loss(self, step: int, rank: int) -> float:
        noise = Random(self.seed * 7919 + step).gauss(0.0, self.noise)
        own = Random(self.seed * 104729 + step * 1009 + rank + 1).gauss(0.0, 1.5 * self.noise)
        if self.kind == "policy":
            value = 0.02 * math.sin(step / 9.0) + 0.3 * (noise + own)
        else:
            seen = min(step, self.broken_from) if self.broken == "plateau" else step
            learnt = self.start * math.exp(-seen / self.steps) + 0.15 * math.exp(-seen / 4e4)
            value = (self.floor + learnt) * (1.0 + noise + own)
            if self.restarts and step % self.restarts < 12:
                value *= 1.0 + 0.05 * math.exp(-(step % self.restarts) / 4.0)
        if self._outlier(step):
            value *= 1.0 + 2.0 * self.noise
        late = step - self.broken_from
        if late < 0.0:
            return value
        match self.broken:
            case "nan":
                return math.nan
            case "spike":
                return value + 4.0 * self.strength * math.exp(-late / (25.0 * self.strength))
            case "divergence":
                return value * (1.0 + 0.03 * self.strength * late)
            case "explosion":
                return value * min(1e4, math.exp(0.02 * self.strength * late))
            case "resume":
                return value + 1.5 * self.strength * math.exp(-late / 120.0)
        return value

    def grad_norm(self, step: int, rank: int) -> float:
        rng = Random(self.seed * 31 + step)
        value = self.norm * (1.0 + 4.0 * math.exp(-step / 80.0)) * rng.lognormvariate(0.0, 0.18)
        if self._outlier(step):
            value *= rng.uniform(2.0, 6.0)
        value *= 1.0 + 0.01 * Random(self.seed + step * 131 + rank).gauss(0.0, 1.0)
        late = step - self.broken_from
        if late >= 0.0:
            match self.broken:
                case "nan":
                    return math.nan
                case "spike":
                    value *= 1.0 + 20.0 * self.strength * math.exp(-late / 10.0)
                case "divergence":
                    value *= 1.0 + 0.05 * self.strength * late
                case "explosion":
                    value *= min(1e9, math.exp(0.12 * self.strength * late))
                case "vanishing":
                    value *= max(1e-8, math.exp(-0.15 * self.strength * late))
                case "resume":
                    value *= 1.0 + 3.0 * math.exp(-late / 40.0)
        return min(value, self.clip) if self.clip and math.isfinite(value) else value

    def _outlier(self, step: int) -> bool:
        """Return whether the batch of this step is an odd one, as some are."""
        every = self.outlier_every
        return bool(every) and Random(self.seed * 17 + step).random() < 1.0 / every

    def learning_rate(self, step: int) -> float:
        warm = min(1.0, (step + 1.0) / self.warmup)
        if self.restarts:
            turn = (step % self.restarts) / self.restarts
            return self.rate * warm * (0.1 + 0.45 * (1.0 + math.cos(math.pi * turn)))
        return self.rate * warm * (0.1 + 0.9 * math.exp(-step / 2e5))
