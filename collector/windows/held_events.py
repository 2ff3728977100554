"""The events of an attempt in order, with their ranks: what was made of each is kept with it."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...detectors.event_searches import EventSearches
from ...detectors.window import Floats
from ...formats.fault_reports import SAME_SECONDS
from ...vocabulary.samples import CLAIMED, Event
from ...vocabulary.topology import JobTopology
from .attributes import rank_of
from .placements import CHECKED, ONLY_CLAIMED, PlacementColumns


class _HeldEvent:
    """An event as it was received, and as it is shown: with the rank that it is of."""

    __slots__ = ("_order", "event", "received", "shown")

    def __init__(self, event: Event, received: float) -> None:
        self.event = self.shown = event
        self.received = received
        self._order: str | None = None

    def place(self, topology: JobTopology, placements: PlacementColumns) -> None:
        """Show the rank that the event is of by this topology."""
        rank, by_process = _rank_of(self.event, topology)
        pairs = dict(self.event.attributes)
        pairs.pop("rank", None)
        if rank is not None:
            pairs["rank"] = rank
        if rank is not None and by_process and placements.standing(rank) == ONLY_CLAIMED:
            pairs |= CLAIMED  # that its process is the rank
        if pairs == self.shown.attributes and self.shown is not self.event:
            return
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
        placements: PlacementColumns,
        versions: tuple[int, ...],
    ) -> None:
        """Take what is held now; only what is new, or may be of another rank, is looked at.

        What is left out is what only claims to excuse a rank that is checked, and a fault that an
        exporter shows too: that of the agent has more to it.
        """
        before, self._held = self._held, {}
        for source in sources:
            for event, received in source:
                one = before.get(id(event))
                if one is None:
                    one = _HeldEvent(event, received)
                    one.place(topology, placements)
                elif topology.version != self._placed_by:
                    one.place(topology, placements)
                self._held[id(event)] = one
        self._placed_by = topology.version
        rows = _ordered(self._held.values())
        rows = [one for one in rows if not _excuses(one.event, placements)]
        rows = _reported_once(rows)
        self.events = tuple(one.shown for one in rows)
        self.received = np.array([one.received for one in rows], np.float64)
        self.searches.keep(self.events)
        self.versions = versions


def _excuses(event: Event, placements: PlacementColumns) -> bool:
    """Return whether an event that is only claimed would excuse a rank that is checked, or the job.

    By a phase, or by an end in order.
    """
    if not CLAIMED.items() <= event.attributes.items():
        return False
    in_order = event.name == "process.exit" and event.attributes.get("exit_code") == 0
    if event.name != "training.phase" and not in_order:
        return False
    return placements.standing(rank_of(event.attributes)) == CHECKED


def _reported_once(rows: list[_HeldEvent]) -> list[_HeldEvent]:
    """Return events without the faults of exporters that others report at about the time."""
    faults = [one for one in rows if one.event.name == "gpu.fault"]
    others: dict[tuple[object, str], list[float]] = {}
    for one in faults:
        if not _of_exporter(one.event):
            others.setdefault(_fault(one.event), []).append(one.event.at)
    if not others:
        return rows
    again = {
        id(one)
        for one in faults
        if _of_exporter(one.event)
        and any(abs(at - one.event.at) <= SAME_SECONDS for at in others.get(_fault(one.event), ()))
    }
    return [one for one in rows if id(one) not in again]


def _of_exporter(event: Event) -> bool:
    return event.attributes.get("source") == "exporter"


def _fault(event: Event) -> tuple[object, str]:
    return event.attributes.get("hw.id"), str(event.attributes.get("code", ""))


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


def _rank_of(event: Event, topology: JobTopology) -> tuple[int | None, bool]:
    pairs, host = event.attributes, event.resource.host
    rank = rank_of(pairs)
    if event.resource.job is not None and rank is not None:
        return rank, False
    pid, device = pairs.get("pid"), pairs.get("hw.id")
    found = topology.rank_of_pid(host, pid) if isinstance(pid, int) else None
    if found is None and isinstance(device, str):
        return topology.rank_of_device(host, device), False
    return found, found is not None
