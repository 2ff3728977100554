"""The detector contract: two methods, no state. The list of detectors is in catalogue.py."""

import math
from collections.abc import Sequence
from typing import Protocol

from ..vocabulary.findings import Finding
from .window import JobWindow


class Detector(Protocol):
    """Something that evaluates one job attempt at one moment.

    The same window gives the same findings, to the digit; order of ranks and a constant factor on
    every duration change nothing. Missing metrics mean no finding, never an exception. A detector
    holds its parameters and nothing else, so that it can be pickled and shared by all jobs.

    name: the word that findings name it by. kinds: the kinds of findings it may return, all of
    them in vocabulary/findings/. cadence_seconds: it is evaluated at most so often; 0 means
    every second in which the window changed. of_steps: what it finds follows from steps, what was
    learnt of them, the topology and events; time alone takes a finding away, and never makes one.
    Where it found nothing it need not be asked again before one of these changes.
    """

    name: str
    kinds: tuple[str, ...]
    cadence_seconds: float = 0.0
    of_steps: bool = False

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return what stands out at `window.now`."""
        ...

    def next_due(self, window: JobWindow) -> float:  # noqa: ARG002  for those that wait
        """Return when time alone could change its answer, in seconds since the epoch; inf: never.

        Always later than `window.now`. A window that changes is evaluated anyway.
        """
        return math.inf
