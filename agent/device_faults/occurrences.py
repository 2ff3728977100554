"""How often a fault occurred: two sources that report the same occurrence add one, not two."""

from collections.abc import Mapping
from dataclasses import dataclass, field

_SAME_SECONDS = 2.0
"""The kernel log and NVML report one occurrence this close together."""
_LATE: Mapping[str, float] = {"exporter": 120.0}
"""An exporter's page reports as late as the exporter looks and the page is read."""


@dataclass(slots=True)
class Occurrences:
    """Counts each source by itself; occurrences are what the source that saw most has seen."""

    _reported: dict[str, int] = field(default_factory=dict)
    _counted: int = 0

    def add(self, source: str, by: int, at: float, *, last: float) -> int:
        """Take `by` reports of a time, the last one being of `last`; return how many are new."""
        if at - last > _LATE.get(source, _SAME_SECONDS):
            self._reported.clear()
            self._counted = 0
        self._reported[source] = self._reported.get(source, 0) + by
        new = max(0, self._reported[source] - self._counted)
        self._counted += new
        return new
