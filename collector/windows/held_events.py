"""The events of an attempt in order, with their ranks: what was made of each is kept with it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...detectors.event_searches import EventSearches
from ...detectors.window import Floats
from ...vocabulary.samples import Event
from ...vocabulary.topology import JobTopology
from .attributes import rank_of


class _HeldEvent:
    """An event as it was received, and as it is shown: with the rank that it is of."""

    __slots__ = ("_order", "event", "received", "shown")

    def __init__(self, event: Event, received: float) -> None:
        self.event = self.shown = event
        self.received = received
        self._order: str | None = None

    def place(self, topology: JobTopology) -> None:
        """Show the rank that the event is of by this topology."""
        rank = _rank_of(self.event, topology)
        if self.shown is not self.event and self.shown.attributes.get("rank") == rank:
            return
        pairs = dict(self.event.attributes)
        pairs.pop("rank", None)
        if rank is not None:
            pairs["rank"] = rank
        self.shown = Event(self.event.name, self.event.at, pairs, self.event.resource)
        self._order = None

    def order(self) -> str:
        """Return what puts events of one name and time in an order, whoever sent them."""
        if self._order is None:
            self._order = str(self.shown.attributes)
        return self._order


class HeldEvents:
    """An attempt's events with their ranks and when they were received, oldest first."""

    def __init__(self) -> None:
        self.versions: tuple[int, ...] = ()
        self.events: tuple[Event, ...] = ()
        self.received: Floats = np.zeros(0)
        self.searches = EventSearches()
        self._held: dict[int, _HeldEvent] = {}
        self._placed_by = -1

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps: nothing, for all of it can be made again."""
        return {}

    def __setstate__(self, _state: dict[str, Any]) -> None:
        """Begin anew."""
        self.__init__()  # type: ignore[misc]

    def refresh(
        self,
        sources: Sequence[Iterable[tuple[Event, float]]],
        topology: JobTopology,
        versions: tuple[int, ...],
    ) -> None:
        """Take what is held now; only what is new, or may be of another rank, is looked at."""
        before, self._held = self._held, {}
        for source in sources:
            for event, received in source:
                one = before.get(id(event))
                if one is None:
                    one = _HeldEvent(event, received)
                    one.place(topology)
                elif topology.version != self._placed_by:
                    one.place(topology)
                self._held[id(event)] = one
        self._placed_by = topology.version
        rows = _ordered(self._held.values())
        self.events = tuple(one.shown for one in rows)
        self.received = np.array([one.received for one in rows], np.float64)
        self.searches.keep(self.events)
        self.versions = versions


def _ordered(rows: Iterable[_HeldEvent]) -> list[_HeldEvent]:
    """Return events by time, name and attributes; the last are written out for equal ones alone."""
    found = sorted(rows, key=_time_and_name)
    edges = [0, *(n for n, (one, other) in enumerate(pairwise(found), 1)
                  if _time_and_name(one) != _time_and_name(other)), len(found)]  # fmt: skip
    if len(edges) <= len(found):
        for begin, end in pairwise(edges):
            if end - begin > 1:
                found[begin:end] = sorted(found[begin:end], key=_HeldEvent.order)
    return found


def _time_and_name(one: _HeldEvent) -> tuple[float, str]:
    return one.shown.at, one.shown.name


def _rank_of(event: Event, topology: JobTopology) -> int | None:
    pairs, host = event.attributes, event.resource.host
    rank = rank_of(pairs)
    if event.resource.job is not None and rank is not None:
        return rank
    pid, device = pairs.get("pid"), pairs.get("hw.id")
    found = topology.rank_of_pid(host, pid) if isinstance(pid, int) else None
    if found is None and isinstance(device, str):
        found = topology.rank_of_device(host, device)
    return found
