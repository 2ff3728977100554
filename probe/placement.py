"""Rank, host device and parallel indices of this process, as `training.rank.info` sends them."""

import dataclasses
import os
import sys
import time
from collections.abc import Callable, Mapping

from ..vocabulary.identity import RankIdentity
from ..vocabulary.samples import Scalar
from .coordinates import ParallelCoordinates

_GUESS_SECONDS = 10.0
"""How long a process that nobody launched waits for a process group before it sends as rank 0."""


class ProcessPlacement:
    """Who this process is, corrected by torch's process group once there is one."""

    def __init__(
        self,
        identity: RankIdentity,
        known: Mapping[str, Scalar | None],
        *,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._identity = identity
        self._known = {name: value for name, value in known.items() if value is not None}
        self.hardware: str | None = None
        self._steady = steady
        self._began = steady()
        self._settled = identity.launched
        self._coordinates = ParallelCoordinates()

    def identity(self) -> RankIdentity:
        """Return who this process is, as far as is known now."""
        return self._identity

    def refresh(self) -> None:
        """Take rank and world size from torch's process group, where the caller gave none.

        Processes that torch.multiprocessing spawned have no launcher's variables at all.
        """
        dist = sys.modules.get("torch.distributed")
        if dist is None or not getattr(dist, "is_initialized", bool)():
            return
        mine, given = self._identity, self._identity.given
        rank = mine.rank if "rank" in given else int(dist.get_rank())
        size = mine.world_size if "world_size" in given else int(dist.get_world_size())
        self._settled = True
        if rank >= 0 and (rank, size) != (mine.rank, mine.world_size):
            self._identity = dataclasses.replace(mine, rank=rank, world_size=size)

    def settled(self, *, stepped: bool) -> bool:
        """Return whether the rank is known, or is not going to be known any better."""
        if not self._settled and (stepped or self._steady() - self._began > _GUESS_SECONDS):
            self._settled = True
        return self._settled

    def attributes(self) -> dict[str, Scalar]:
        """Return the attributes of `training.rank.info`."""
        who = self._identity
        labels: dict[str, Scalar] = {
            "rank": who.rank,
            "local_rank": who.local_rank,
            "world_size": who.world_size,
            "pid": os.getpid(),
            "framework": "torch" if "torch" in sys.modules else "python",
            **self._indices(),
            **self._known,
        }
        if self.hardware:
            labels["hw.id"] = self.hardware
        return labels

    def _indices(self) -> Mapping[str, int]:
        """Return this rank's indices in the parallel layout, as far as the job has set one up."""
        dist = sys.modules.get("torch.distributed")
        if dist is None or not getattr(dist, "is_initialized", bool)():
            return {}
        return self._coordinates.read(dist)
