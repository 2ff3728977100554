"""What ranks said of a few steps: the batch, the optimizer's own count, random numbers, the rate.

The first steps of a process are such steps, and those after each checkpoint: an attempt that goes
on from a checkpoint is compared with what the attempt before had there.
"""

from collections import deque
from dataclasses import dataclass

KEPT = 512
"""Of one job, the newest."""

MOST_RANKS = 8
"""Steps of the lowest ranks are kept: what a resume loses, it loses on all of them."""


@dataclass(frozen=True, slots=True)
class StepLandmark:
    """One rank at the end of one step. `updates` -1, `rate` NaN and texts empty where unknown.

    random: of the state of random numbers. stream: of the part of it that few draws leave as it is.
    moments: the norm of the optimizer's averages.
    """

    attempt: int
    rank: int
    step: int
    at: float
    world_size: int
    batch: str = ""
    updates: int = -1
    random: str = ""
    rate: float = float("nan")
    stream: str = ""
    moments: float = float("nan")


class LandmarkMemory:
    """Landmarks of a job, over its attempts."""

    def __init__(self) -> None:
        self._held: deque[StepLandmark] = deque(maxlen=KEPT)
        self._known: set[tuple[int, int, int]] = set()

    def note(self, landmark: StepLandmark) -> None:
        """Keep a landmark, once; those of high ranks are not kept."""
        key = (landmark.attempt, landmark.rank, landmark.step)
        if landmark.rank >= MOST_RANKS or key in self._known:
            return
        if len(self._held) == KEPT:
            gone = self._held[0]
            self._known.discard((gone.attempt, gone.rank, gone.step))
        self._held.append(landmark)
        self._known.add(key)

    def before(self, landmark: StepLandmark) -> StepLandmark | None:
        """Return the newest of the same rank and step in an earlier attempt, None without one."""
        return max(
            (
                one
                for one in self._held
                if (one.rank, one.step) == (landmark.rank, landmark.step)
                and one.attempt < landmark.attempt
            ),
            key=lambda one: one.attempt,
            default=None,
        )

    def is_first(self, landmark: StepLandmark) -> bool:
        """Tell whether it is the first of its rank in its attempt."""
        return not any(
            one.step < landmark.step
            for one in self._held
            if (one.rank, one.attempt) == (landmark.rank, landmark.attempt)
        )

    def with_batch(self, landmark: StepLandmark) -> StepLandmark | None:
        """Return the newest of an earlier attempt that had the very same batch, None without."""
        return max(
            (
                one
                for one in self._held
                if landmark.batch
                and one.batch == landmark.batch
                and one.rank == landmark.rank
                and one.attempt < landmark.attempt
            ),
            key=lambda one: (one.attempt, one.step),
            default=None,
        )
