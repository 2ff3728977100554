"""A start without a snapshot: how much of the journal is read again, and what is known already.

Windows that begin in the middle of a fault date it otherwise. So the incident tracker is given what
the store has before anything is read: an incident that is over is not opened a second time, one
that is open goes on under its id.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...alerts.closed import ClosedIncident
from ...vocabulary import times
from ..settings.journal import JournalSettings
from ..store.incidents import IncidentFilter, IncidentPage

_MOST = 2_000
"""Incidents of each status that are looked at, the newest first."""


class StoredIncidents(Protocol):
    """What is needed of the store."""

    def incidents(
        self, wanted: IncidentFilter | None = None, *, limit: int = 50, cursor: str | None = None
    ) -> IncidentPage:
        """Return documents of incidents, the newest onset first."""
        ...

    def newest_change_at(self) -> float | None:
        """Return the newest time of a change that evaluation decided, None where there is none."""
        ...


def _nothing(_since: float) -> Iterator[ClosedIncident]:
    return iter(())


@dataclass(frozen=True, slots=True)
class RereadPlan:
    """`seconds` says how much to read, given the time; `past` gives incidents changed since.

    `decided_until`: the newest second of which the store has a change (s since the epoch).
    """

    seconds: Callable[[float], float] = lambda _now: 1200.0
    past: Callable[[float], Iterator[ClosedIncident]] = field(default=_nothing)
    decided_until: Callable[[], float] = lambda: -math.inf

    @classmethod
    def of(cls, store: StoredIncidents, settings: JournalSettings) -> "RereadPlan":
        return cls(
            seconds=lambda now: reread_seconds(store, settings, now),
            past=lambda since: past(store, since),
            decided_until=lambda: store.newest_change_at() or -math.inf,
        )


def reread_seconds(store: StoredIncidents, journal: JournalSettings, now: float) -> float:
    """Return the seconds to read: the usual minutes before the oldest onset still open, bounded."""
    usual = journal.reread_minutes * 60
    rows: list[dict[str, Any]] = []
    for status in ("open", "acknowledged"):
        rows += store.incidents(IncidentFilter(status=status), limit=200).items
    oldest = min((times.parse(row["opened_at"]) for row in rows), default=now)
    return min(max(usual, now - oldest + usual), max(usual, journal.reread_limit_minutes * 60))


def past(store: StoredIncidents, since: float) -> Iterator[ClosedIncident]:
    """Yield what is open, and what was resolved at or after a time (seconds since the epoch)."""
    for wanted in (
        IncidentFilter(status="open"),
        IncidentFilter(status="acknowledged"),
        IncidentFilter(status="resolved", since=since),
    ):
        for document in store.incidents(wanted, limit=_MOST).items:
            yield ClosedIncident.of(document)
