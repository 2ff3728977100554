"""The detector contract: one method, no state. The list of detectors is in catalogue.py."""

from collections.abc import Sequence
from typing import Protocol

from ..vocabulary.findings import Finding
from .window import JobWindow


class Detector(Protocol):
    """Something that evaluates one job attempt at one moment.

    The same window gives the same findings, to the digit; order of ranks and a constant factor on
    every duration change nothing. Missing metrics mean no finding, never an exception.
    """

    @property
    def name(self) -> str:
        """Return the word that findings name it by."""
        ...

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of findings it may return, all of them in vocabulary/findings.toml."""
        ...

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return what stands out at `window.now`."""
        ...
