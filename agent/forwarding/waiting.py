"""Records that wait to be forwarded: in memory, bounded; beyond, the oldest goes, counted."""

import threading
from collections import deque

from ...vocabulary.samples import TelemetryResource
from ..health import AgentHealth

_EACH = 200
"""Bytes that a waiting record takes beside its content."""

Groups = list[tuple[TelemetryResource, list[bytes]]]


class ForwardQueue:
    """Filled by one thread, emptied by another."""

    def __init__(self, *, max_bytes: int, health: AgentHealth) -> None:
        self._max_bytes = max_bytes
        self._health = health
        self._lock = threading.Lock()
        self._records: deque[tuple[TelemetryResource, bytes]] = deque()
        self._size = 0

    def add(self, resource: TelemetryResource, records: list[bytes]) -> None:
        """Let records wait."""
        with self._lock:
            for record in records:
                self._records.append((resource, record))
                self._size += len(record) + _EACH
            lost = 0
            while self._size > self._max_bytes:
                _, record = self._records.popleft()
                self._size -= len(record) + _EACH
                lost += 1
            size = self._size
        if lost:
            self._health.count("forward_lines_dropped", "full", by=lost)
        self._health.show("forward_waiting_bytes", size)

    def take(self, most: int) -> tuple[Groups, int]:
        """Return the oldest records of at most so many bytes, by resource, and how many they are.

        They no longer wait: who took them sends them, or counts them.
        """
        groups: dict[TelemetryResource, list[bytes]] = {}
        count = size = 0
        with self._lock:
            while self._records and (not count or size + len(self._records[0][1]) <= most):
                resource, record = self._records.popleft()
                self._size -= len(record) + _EACH
                groups.setdefault(resource, []).append(record)
                size += len(record)
                count += 1
            left = self._size
        self._health.show("forward_waiting_bytes", left)
        return list(groups.items()), count
