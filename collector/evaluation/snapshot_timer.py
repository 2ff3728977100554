"""When snapshots are written: every minute, and never for more than a small part of the time."""

import time
from collections.abc import Callable

import structlog

from ..health.health import CollectorHealth
from .snapshots import PipelineSnapshot, SnapshotFile

_LOG = structlog.get_logger(__name__)
SNAPSHOT_SECONDS = 60.0
_SNAPSHOT_SHARE = 20.0
"""Writing a snapshot takes at most one part in so many of the time."""


class SnapshotTimer:
    """Has a child write a snapshot when one is due. For the thread that steps."""

    def __init__(
        self, snapshots: SnapshotFile, *, health: CollectorHealth, seconds: float = SNAPSHOT_SECONDS
    ) -> None:
        self._seconds = seconds
        self._snapshots = snapshots
        self._health = health
        self._due_at = 0.0
        self._began = 0.0

    def write_if_due(self, state: Callable[[], PipelineSnapshot]) -> None:
        """Begin a snapshot of the state where it is time for one and none is being written."""
        if self._snapshots.writing:
            return
        now = time.monotonic()
        if self._began:
            # The child has ended: note when, and how long it took.
            took = now - self._began
            self._began = 0.0
            self._health.snapshot_seconds.set(took)
            self._due_at = now + max(self._seconds, _SNAPSHOT_SHARE * took)
        if now < self._due_at:
            return
        self._began = now
        try:
            self._snapshots.fork(state())
        except OSError as error:
            self._began, self._due_at = 0.0, now + self._seconds
            _LOG.error("a snapshot could not be begun", error=str(error))
