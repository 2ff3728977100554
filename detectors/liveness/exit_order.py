"""Which of several abnormal exits came first, by what logs say and by the time of one clock."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.samples import Event
from ..hardware.clock_offsets import OFFSET
from ..window import JobWindow
from . import stops
from .stops import code_of, is_root, rank_of

JUST_SECONDS = 10.0
"""A process that logs the error it dies of takes no longer to end."""


def first(
    window: JobWindow, exits: Sequence[Event], root: set[int | None], seconds: float
) -> tuple[Event, list[Event]]:
    """Return the first exit, and those that are as early: within so many `seconds` of polling.

    root: ranks that logged an error of their own. Where there is none, only time orders exits.
    """
    ahead = _ahead(window) if root.isdisjoint(map(rank_of, exits)) else {}
    at = [event.at - ahead.get(event.resource.host, 0.0) for event in exits]
    until = min(at) + seconds
    together = [event for event, one in zip(exits, at, strict=True) if one <= until]
    chosen = min(
        together,
        key=lambda e: (rank_of(e) not in root, code_of(e) == -stops.SIGTERM, e.at, rank_of(e)),
    )
    if rank_of(chosen) not in root and _says_nothing(chosen):
        explained = _explained(window, exits, min(event.at for event in exits))
        if explained:
            return explained[0], explained
    return chosen, together


def _ahead(window: JobWindow) -> dict[str | None, float]:
    """Return by how many seconds hosts say that their clocks are ahead.

    Only where it is still in the times of events: larger offsets are taken out on arrival.
    """
    if window.clock_skew > 0:
        return {}
    offset, _ = window.of_hosts(OFFSET).latest()
    return dict(zip(window.hosts, np.nan_to_num(offset).tolist(), strict=True))


def _says_nothing(event: Event) -> bool:
    """Tell whether an exit leaves open why: an exit code, or SIGTERM, which somebody sent."""
    code = code_of(event)
    return code is None or code > 0 or code == -stops.SIGTERM


def _explained(window: JobWindow, exits: Sequence[Event], earliest: float) -> list[Event]:
    """Return the exits no later than polling explains whose ranks had just logged an error."""
    lines = [(rank_of(event), event.at) for event in window.named("log.fault") if is_root(event)]
    return [
        event
        for event in exits
        if event.at <= earliest + stops.POLLED_SECONDS
        and any(
            rank == rank_of(event) and 0 <= event.at + stops.POLLED_SECONDS - at <= JUST_SECONDS
            for rank, at in lines
        )
    ]
