"""One rank of the real jobs: torch over gloo, watched by the probe, one job after the other.

`python -m bench.counterfactual.ranks COUNT SEED KINDS`, with the variables that torchrun would set.
Work on a device is slept, so that ranks do not compete for the CPUs; what they exchange is
exchanged.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import distributed

from rankscope.probe import attach

from .episodes import RANKS, RealEpisode, drawn

LAYERS, BATCHES = 4, 8
"""Of a tensor-parallel step, and micro-batches of a pipeline's."""

PAUSE_CHANCE = 0.15
VALUES = 1 << 16
"""Numbers that ranks reduce in a step; where the exchange is slow, many times as many."""


class EpisodeRank:
    """This rank in one episode."""

    def __init__(self, episode: RealEpisode, rank: int, groups: Sequence[Any]) -> None:
        self._episode, self._rank, self._groups = episode, rank, groups
        self._random = np.random.default_rng([episode.number, rank])
        self._lasting = 1 + 0.01 * float(self._random.standard_normal())
        self._step = 0

    def run(self) -> None:
        """Train all steps of the episode, and wait for the other ranks."""
        dp, tp, pp = self._placement()
        job = self._episode.job
        watch = attach(job=job, rank=self._rank, world_size=RANKS, dp=dp, tp=tp, pp=pp)
        batches = iter(watch.data(self._batches()))
        for step in range(self._episode.steps):
            self._step = step
            with watch.step(step):
                next(batches)
                self._train()
        watch.detach()
        distributed.barrier()

    def _placement(self) -> tuple[int | None, int | None, int | None]:
        if self._episode.shape == "tensor":
            return self._rank // 2, self._rank % 2, 0
        return (0, 0, self._rank) if self._episode.shape == "pipeline" else (None, None, None)

    def _batches(self) -> Iterator[int]:
        while True:
            slow = self._at_fault("slow-loader")
            time.sleep(0.002 + (self._episode.size if slow else 0.0))
            yield 1

    def _at_fault(self, trouble: str) -> bool:
        episode = self._episode
        return (
            episode.trouble == trouble
            and episode.troubled(self._step)
            and (not episode.ranks or self._rank in episode.ranks)
        )

    def _work(self, share: float) -> None:
        seconds = self._episode.seconds * share * self._lasting
        seconds *= float(self._random.lognormal(0.0, 0.015))
        if self._at_fault("slow-rank") or self._at_fault("stage"):
            seconds *= self._episode.size
        time.sleep(seconds)

    def _train(self) -> None:
        shape = self._episode.shape
        if self._at_fault("pauses") and self._random.random() < PAUSE_CHANCE:
            time.sleep(self._episode.size)
        if shape == "pipeline":
            self._pipeline()
        elif shape == "tensor":
            for _ in range(LAYERS):
                self._work(1 / LAYERS)
                distributed.all_reduce(torch.zeros(1024), group=self._groups[self._rank // 2])
        else:
            self._work(1.0)
        times = 24 if self._at_fault("slow-exchange") else 1
        for _ in range(times):
            distributed.all_reduce(torch.zeros(VALUES))

    def _pipeline(self) -> None:
        """Run all micro-batches forward, then backward: a stage hands each on to the next."""
        held, last = torch.zeros(1024), RANKS - 1
        for _ in range(BATCHES):
            if self._rank > 0:
                distributed.recv(held, self._rank - 1)
            self._work(1 / 3 / BATCHES)
            if self._rank < last:
                distributed.send(held, self._rank + 1)
        for _ in range(BATCHES):
            if self._rank < last:
                distributed.recv(held, self._rank + 1)
            self._work(2 / 3 / BATCHES)
            if self._rank > 0:
                distributed.send(held, self._rank - 1)


def main() -> int:
    """Run the episodes."""
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    groups = [distributed.new_group([0, 1]), distributed.new_group([2, 3])]
    rank = int(os.environ["RANK"])
    for episode in drawn(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")):
        EpisodeRank(episode, rank, groups).run()
    distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
