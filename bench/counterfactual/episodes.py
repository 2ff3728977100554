"""What real jobs do: a shape of training, a fault in it, and when the fault begins and ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Shape = Literal["data", "tensor", "pipeline"]
Trouble = Literal["slow-rank", "slow-exchange", "slow-loader", "stage", "pauses"]

FAULTS: dict[Trouble, str] = {
    "slow-rank": "gpu.slow",
    "slow-exchange": "network.congestion",
    "slow-loader": "software.dataloader_slow",
    "stage": "balance.pipeline_stage",
    "pauses": "software.gc_pause",
}
RANKS = 4

KINDS: dict[str, tuple[Shape, Trouble]] = {
    f"{shape}-{trouble}": (shape, trouble)
    for shape in get_args(Shape)
    for trouble in FAULTS
    if trouble != "stage" or shape == "pipeline"
}
"""Each shape with each fault that it can have, by name."""


@dataclass(frozen=True, slots=True)
class RealEpisode:
    """One run. Steps [begin, end) have the fault, those before and after do not.

    seconds: of a rank's own work in a step. size: of the fault: a factor on work, else seconds.
    """

    number: int
    shape: Shape
    trouble: Trouble
    rank: int
    size: float
    seconds: float = 0.2
    begin: int = 40
    end: int = 80
    steps: int = 120

    @property
    def job(self) -> str:
        return f"{self.shape}-{self.trouble}-{self.number}"

    @property
    def fault(self) -> str:
        return FAULTS[self.trouble]

    @property
    def ranks(self) -> tuple[int, ...]:
        """Return the ranks at fault, none where it is everywhere."""
        return () if self.trouble in ("slow-exchange", "pauses") else (self.rank,)

    def troubled(self, step: int) -> bool:
        return self.begin <= step < self.end


def drawn(count: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[RealEpisode]:
    """Yield episodes: of some KINDS, in turn, of drawn sizes."""
    random = np.random.default_rng(seed)
    for number in range(count):
        shape, trouble = KINDS[kinds[number % len(kinds)]]
        factor, seconds = random.uniform(1.15, 1.8), random.uniform(0.05, 0.2)
        size = factor if trouble in ("slow-rank", "stage") else seconds
        yield RealEpisode(number, shape, trouble, int(random.integers(RANKS)), float(size))
