"""How much of the journal a start reads again: enough to find again what is still open."""

from typing import Any, Protocol

from ..vocabulary import times
from .journal.settings import JournalSettings
from .store.incidents import Filter, Page

_MOST = 200
"""Open incidents that are looked at, the newest first."""


class Incidents(Protocol):
    """What is needed of the store."""

    def incidents(self, wanted: Filter | None = None, *, limit: int = 50) -> Page:
        """Return documents of incidents, the newest onset first."""
        ...


def reread_seconds(store: Incidents, journal: JournalSettings, now: float) -> float:
    """Return the seconds to read: the usual time range before the oldest onset still open, bounded.

    Windows without that onset would show the same trouble as new, under another id.
    """
    usual = journal.reread_minutes * 60
    rows: list[dict[str, Any]] = []
    for status in ("open", "acknowledged"):
        rows += store.incidents(Filter(status=status), limit=_MOST).items
    oldest = min((times.parse(row["opened_at"]) for row in rows), default=now)
    return min(max(usual, now - oldest + usual), max(usual, journal.reread_limit_minutes * 60))
