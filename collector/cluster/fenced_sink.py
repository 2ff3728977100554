"""The incident store for one owner of a partition: what another has taken is not written to."""

from collections.abc import Callable, Sequence
from typing import Any

from ..journal.actions import RecordedAction
from ..store.fencing import FencedError, PartitionFence
from ..store.store import IncidentDatabaseStore


class FencedSink:
    """The store, for what one owner of a partition decided."""

    def __init__(
        self, store: IncidentDatabaseStore, fence: PartitionFence, lost: Callable[[], None]
    ) -> None:
        self._store = store
        self._fence = fence
        self._lost = lost

    def commit(self, changes: Sequence[Any], now: float) -> None:
        """Keep the changes of one second, all or none."""
        try:
            self._store.commit(changes, now, fence=self._fence)
        except FencedError:
            self._lost()
            raise

    def enter(self, entered: RecordedAction, changes: Sequence[Any], now: float) -> None:
        """Keep what a person did and the changes it made, all or none."""
        try:
            self._store.enter(entered, changes, now, fence=self._fence)
        except FencedError:
            self._lost()
            raise
