"""Detectors of what is left of a job that is over: its log alone, and no more of it to come."""

import math
from abc import abstractmethod
from collections.abc import Sequence

from ..vocabulary.findings import Finding
from .contract import Detector
from .window import JobWindow


class EndedJobDetector(Detector):
    """Something that is asked once a job is over, and is in no list of detectors.

    Parameters
    ----------
    over : when the job was over, in seconds since the epoch: nothing is said before.
    """

    def __init__(self, *, over: float = math.inf) -> None:
        self.over = over

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return what stands out once the job is over."""
        return [] if window.now < self.over else self.of_end(window)

    @abstractmethod
    def of_end(self, window: JobWindow) -> Sequence[Finding]:
        """Return what stands out in all that there is of the job."""

    def next_due(self, window: JobWindow) -> float:
        """Return when the job was over."""
        return self.over if self.over > window.now else math.inf
