"""Errors that ended a process, of which no line says the rank: whose they are taken for."""

import re
from collections.abc import Callable, Iterable, Mapping

from ....vocabulary.samples import Event
from .survival import MAY_END, PlacedEvent, is_root_of

_OF_DEVICES = re.compile(r"^(?:gpu|cuda|ascend)\.")
_OWN_WISH = (0, 6)
"""How a process ends that its own device's error ends: with a code, or by abort()."""
_ASKED = (15, 2, 9)
"""Signals by which a launcher ends the others."""


def placed(
    events: Iterable[PlacedEvent],
    *,
    raised: int | None,
    exits: Mapping[int, tuple[float, int]],
) -> list[PlacedEvent]:
    """Return events with the rank of those that ended a process and name none.

    raised: the rank that a launcher says ended by an error, exits: by rank when it ended and by
    which signal, 0 for none. What a device reports is of the only rank of which another line says
    such a thing, else of the one that ended first by itself, unless one was ended by a signal,
    which such an error does not explain.
    """
    events = list(events)
    said = {rank for rank, _, event in events if rank is not None and _of_a_device(event)}
    failed = raised if raised is not None else _failed(exits)
    if raised is None and said:
        failed = next(iter(said)) if len(said) == 1 else None
    return [
        (failed if _unplaced(rank, event, raised) else rank, file, event)
        for rank, file, event in events
    ]


def of_devices(events: Iterable[PlacedEvent]) -> bool:
    """Tell whether a line reports an error of a device, and no rank."""
    return any(_unplaced(rank, event, None) for rank, _, event in events)


def written(events: Iterable[PlacedEvent], wrote: Callable[[str], int | None]) -> list[PlacedEvent]:
    """Return events with the ranks of lines about devices that `wrote` knows by their text."""
    return [
        (
            wrote(str(event.attributes.get("text", ""))) if _unplaced(rank, event, None) else rank,
            file,
            event,
        )
        for rank, file, event in events
    ]


def _failed(exits: Mapping[int, tuple[float, int]]) -> int | None:
    if any(signal not in (*_OWN_WISH, *_ASKED) for _, signal in exits.values()):
        return None
    own = [(at, rank) for rank, (at, signal) in exits.items() if signal in _OWN_WISH]
    return min(own)[1] if own else None


def _unplaced(rank: int | None, event: Event, raised: int | None) -> bool:
    """Tell whether an event is an error that ended a process, which one no line says."""
    if rank is not None:
        return False
    return _of_a_device(event) if raised is None else is_root_of(event, MAY_END)


def _of_a_device(event: Event) -> bool:
    return is_root_of(event, _OF_DEVICES)
