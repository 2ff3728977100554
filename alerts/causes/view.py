"""What an explanation needs of a job besides its findings: what runs where and what is reported."""

from dataclasses import dataclass

from ...vocabulary import findings as kinds
from ...vocabulary.topology import JobTopology


@dataclass(frozen=True, slots=True)
class JobView:
    """One job attempt.

    `observed`: names of the metrics and events that some source of the job reports. `clock_skew`:
    seconds by which the clocks of its hosts differ.
    """

    topology: JobTopology
    observed: frozenset[str]
    clock_skew: float = 0.0

    def observable(self, kind: str) -> bool:
        """Return whether the data could show findings of a kind."""
        return kinds.catalogue()[kind].observable(self.observed)
