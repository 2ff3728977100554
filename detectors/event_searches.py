"""What is searched for in the texts of events, each text once, however often it is asked about.

A window is looked at every second, and its events are those of half an hour.
"""

import re
from collections.abc import Callable, Iterable

from ..vocabulary.samples import Event

ReadText = Callable[[Event], str]


class _SearchedEvent:
    """One event, which patterns were searched for, and which were found: bits by their numbers."""

    __slots__ = ("asked", "event", "found")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.asked = self.found = 0


class EventSearches:
    """Results of searches, by pattern and event; for one thread."""

    def __init__(self) -> None:
        self._patterns: dict[tuple[re.Pattern[str], ReadText], int] = {}
        self._searched: dict[int, _SearchedEvent] = {}

    def found(self, pattern: re.Pattern[str], event: Event, read: ReadText) -> bool:
        """Tell whether a pattern occurs in what `read` returns of an event."""
        bit = 1 << self._patterns.setdefault((pattern, read), len(self._patterns))
        # By identity: an event's attributes cannot be hashed. It is held, so nothing takes its id.
        one = self._searched.get(id(event))
        if one is None:
            one = self._searched[id(event)] = _SearchedEvent(event)
        if not one.asked & bit:
            one.asked |= bit
            if pattern.search(read(event)) is not None:
                one.found |= bit
        return bool(one.found & bit)

    def keep(self, events: Iterable[Event]) -> None:
        """Forget all other events."""
        searched = self._searched
        self._searched = {
            id(event): searched[id(event)] for event in events if id(event) in searched
        }
