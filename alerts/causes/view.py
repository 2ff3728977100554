"""What an explanation needs of a job besides its findings: what runs where and what is reported."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from ...vocabulary import findings as kinds
from ...vocabulary.topology import JobTopology


@dataclass(frozen=True)
class JobView:
    """One job attempt.

    `observed`: names of the metrics and events that some source of the job reports. `clock_skew`:
    seconds by which the clocks of its hosts differ. `interval`: seconds between two reports of its
    hosts, 0 where nobody knows.
    """

    topology: JobTopology
    observed: frozenset[str]
    clock_skew: float = 0.0
    interval: float = 0.0

    def observable(self, kind: str) -> bool:
        """Return whether the data could show findings of a kind."""
        found = self._known.get(kind)
        if found is None:
            found = self._known[kind] = kinds.catalogue()[kind].observable(self.observed)
        return found

    @cached_property
    def _known(self) -> dict[str, bool]:
        return _known_of(self.observed)


@lru_cache(maxsize=64)
def _known_of(observed: frozenset[str]) -> dict[str, bool]:  # noqa: ARG001  the key
    """Return which kinds of findings these sources could show, filled in as they are asked for.

    A job reports the same from one second to the next.
    """
    return {}
