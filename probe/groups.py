"""Which communication groups are due to be described to the collector."""

import math
from collections.abc import Iterable

from ..vocabulary.groups import ProcessGroup
from ..vocabulary.samples import Sample

_INFO_PERIOD_SECONDS = 600.0


class GroupInfos:
    """Describes, once and every ten minutes again, the groups of which this rank is lowest."""

    def __init__(self) -> None:
        self._due = -math.inf
        self._sent: set[str] = set()

    def due(self, known: Iterable[ProcessGroup], at: float, rank: int) -> list[Sample]:
        """Return `collective.group.info` for each group not sent in the last ten minutes."""
        if not 0 <= self._due - at <= _INFO_PERIOD_SECONDS:
            self._sent.clear()
            self._due = at + _INFO_PERIOD_SECONDS
        found: list[Sample] = []
        for group in tuple(known):
            if group.name in self._sent or not group.ranks or group.ranks[0] != rank:
                continue
            self._sent.add(group.name)
            found.append(group.info(at))
        return found
