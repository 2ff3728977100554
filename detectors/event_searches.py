"""What is searched for in the texts of events, each text once, however often it is asked about.

A window is looked at every second, and its events are those of half an hour.
"""

import re
from collections.abc import Callable, Iterable

from ..vocabulary.samples import Event
from .split_patterns import SplitPattern

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
        self._asked: dict[tuple[int, ReadText], tuple[int, SplitPattern, re.Pattern[str]]] = {}
        """By the identity of a pattern, whose own hash goes through all of it: its bit, and it."""
        self._searched: dict[int, _SearchedEvent] = {}

    def found(self, pattern: re.Pattern[str], event: Event, read: ReadText) -> bool:
        """Tell whether a pattern occurs in what `read` returns of an event."""
        asked = self._asked.get((id(pattern), read))
        if asked is None:
            # The pattern is held, so nothing takes its id.
            asked = 1 << len(self._asked), SplitPattern.of(pattern), pattern
            self._asked[id(pattern), read] = asked
        bit, split, _ = asked
        # By identity: an event's attributes cannot be hashed. It is held, so nothing takes its id.
        one = self._searched.get(id(event))
        if one is None:
            one = self._searched[id(event)] = _SearchedEvent(event)
        if not one.asked & bit:
            one.asked |= bit
            if split.is_in(read(event)):
                one.found |= bit
        return one.found & bit != 0

    def keep(self, events: Iterable[Event]) -> None:
        searched = self._searched
        self._searched = {
            id(event): searched[id(event)] for event in events if id(event) in searched
        }
