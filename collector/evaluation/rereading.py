"""A start without a snapshot: what the last minutes of the journal give is held against the store.

Windows that begin in the middle of a fault date it otherwise, so an incident that was resolved long
ago would be opened, and announced, a second time under another id. What is found again is therefore
held back until all has been read, and passed on only where the store has nothing to set against it.
"""

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from ..storing import Item


class Stored(Protocol):
    """What is needed of the store."""

    def known(self, identities: Sequence[str]) -> Mapping[str, str]:
        """Return the status of each of these incidents that the store has."""
        ...

    def last_change(self, job: str) -> float | None:
        """Return when evaluation last changed an incident of a job (epoch s), None: never."""
        ...


class Rereading:
    """Holds items between `with` and `news`; for one thread."""

    def __init__(
        self,
        *,
        seconds: Callable[[float], float] = lambda _now: 1200.0,
        stored: Stored | None = None,
    ) -> None:
        """`seconds` says how much to read, given the time."""
        self.seconds = seconds
        self._stored = stored
        self._held: list[Item] | None = None

    def __enter__(self) -> Self:
        self._held = []
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held = None

    def take(self, item: Item) -> bool:
        """Hold an item; False where nothing is being read again."""
        if self._held is None:
            return False
        self._held.append(item)
        return True

    def news(self) -> list[Item]:
        """Return the items to pass on, without incidents that the store has as resolved.

        Under their id, or under another: those are over by now, unknown to the store by their id,
        and were detected before evaluation last said something about their job.
        """
        held = self._held or []
        if self._stored is None:
            return held
        last = {change.incident.id: change.incident for item in held for change in item.changes}
        known = self._stored.known(list(last))
        again = {
            identity
            for identity, incident in last.items()
            if known.get(identity) == "resolved"
            or (identity not in known and incident.status == "resolved" and self._old(incident))
        }
        return [
            Item(kept, item.at, item.action)
            for item in held
            if (kept := [row for row in item.changes if row.incident.id not in again])
            or item.action is not None
        ]

    def _old(self, incident: Any) -> bool:
        assert self._stored is not None  # noqa: S101  `news` has looked
        changed = [self._stored.last_change(job) for job in incident.jobs]
        return any(at is not None and incident.detected_at <= at for at in changed)
