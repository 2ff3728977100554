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
        self._bits: dict[tuple[int, ReadText], int] = {}
        """By the identity of a pattern, whose own hash goes through all of it."""
        self._patterns: list[re.Pattern[str]] = []
        self._searched: dict[int, _SearchedEvent] = {}

    def found(self, pattern: re.Pattern[str], event: Event, read: ReadText) -> bool:
        """Tell whether a pattern occurs in what `read` returns of an event."""
        bit = self._bits.get((id(pattern), read))
        if bit is None:
            bit = self._bits[id(pattern), read] = 1 << len(self._patterns)
            self._patterns.append(pattern)  # held, so nothing takes its id
        # By identity: an event's attributes cannot be hashed. It is held, so nothing takes its id.
        one = self._searched.get(id(event))
        if one is None:
            one = self._searched[id(event)] = _SearchedEvent(event)
        if not one.asked & bit:
            one.asked |= bit
            if pattern.search(read(event)) is not None:
                one.found |= bit
        return one.found & bit != 0

    def keep(self, events: Iterable[Event]) -> None:
        searched = self._searched
        self._searched = {
            id(event): searched[id(event)] for event in events if id(event) in searched
        }
