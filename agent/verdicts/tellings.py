"""Who told a fault how often: two sources that tell the same occurrence add one, not two."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_SAME_SECONDS = 2.0
"""The kernel log and NVML tell one occurrence this close together."""
_LATE: Mapping[str, float] = {"exporter": 120.0}
"""What is read off a page comes as late as the exporter looks and the page is read."""


@dataclass(slots=True)
class Tellings:
    """Counts a source for itself; occurrences are what the source that saw most has seen."""

    _told: dict[str, int] = field(default_factory=dict)
    _seen: int = 0

    def add(self, source: str, by: int, at: float, *, last: float) -> int:
        """Take `by` tellings at a time, the last one being of `last`; return how many are new."""
        if at - last > _LATE.get(source, _SAME_SECONDS):
            self._told.clear()
            self._seen = 0
        self._told[source] = self._told.get(source, 0) + by
        fresh = max(0, self._told[source] - self._seen)
        self._seen += fresh
        return fresh
