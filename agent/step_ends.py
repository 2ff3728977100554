"""When the steps of each rank ended, as its probe reports: what a log says of a step joins there.

A log and a probe count steps each in their own way. What joins them is time: a line about a step is
written right after it ended.
"""

import bisect
from collections import deque
from collections.abc import Iterable, Sequence

from ..vocabulary.samples import Sample

_MOST_STEPS = 1024
_MOST_RANKS = 1024
_FAR_SECONDS = 60.0
"""A line that comes so long after the last step is about something else."""

_STEP = "training.step"
_OF_PROBE = frozenset({_STEP, "training.step.duration"})

Rank = tuple[str, int | None, int]
"""Job, attempt and rank."""


class StepEnds:
    """The last steps of the ranks of this node; for one thread."""

    def __init__(self) -> None:
        self._ends: dict[Rank, deque[float]] = {}

    def note(self, rank: Rank, samples: Iterable[Sample]) -> None:
        """Note the steps that a probe reports."""
        for sample in samples:
            if sample.metric == _STEP:
                ends = self._ends.get(rank)
                if ends is None:
                    if len(self._ends) >= _MOST_RANKS:
                        del self._ends[next(iter(self._ends))]
                    ends = self._ends[rank] = deque(maxlen=_MOST_STEPS)
                if not ends or sample.at > ends[-1]:
                    ends.append(sample.at)

    def forget(self, rank: Rank) -> None:
        """Forget a rank whose process ended."""
        self._ends.pop(rank, None)

    def joined(self, job: str, attempt: int | None, samples: Sequence[Sample]) -> list[Sample]:
        """Return a log's samples with the time of the probe's step that they are about.

        Steps and their durations are the probe's to report. Samples of ranks without a probe stay
        as they are.
        """
        if not self._ends:
            return list(samples)
        found: list[Sample] = []
        for sample in samples:
            rank = next((value for name, value in sample.attributes if name == "rank"), None)
            ends = self._ends.get((job, attempt, rank)) if isinstance(rank, int) else None
            if ends is None or not sample.metric.startswith("training."):
                found.append(sample)
            elif sample.metric not in _OF_PROBE:
                at = _last(ends, sample.at)
                found.append(Sample(sample.metric, sample.value, at, sample.attributes))
        return found


def _last(ends: deque[float], at: float) -> float:
    """Return when the last step before a time ended; the time itself where none did lately."""
    place = bisect.bisect_right(ends, at)
    if place == 0 or at - ends[place - 1] > _FAR_SECONDS:
        return at
    return ends[place - 1]
