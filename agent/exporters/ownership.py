"""Which target owns a device that several show: the first in the settings that still does."""

import threading


class Ownership:
    """For every thread. A claim lasts `lasting` seconds from its last renewal."""

    def __init__(self, *, lasting: float) -> None:
        self._lasting = lasting
        self._lock = threading.Lock()
        self._owners: dict[str, tuple[int, float]] = {}

    def claim(self, hw_id: str, target: int, now: float) -> bool:
        """Return whether a target (its place in the settings) owns a device now."""
        with self._lock:
            owner = self._owners.get(hw_id)
            if owner is None or owner[0] >= target or now - owner[1] > self._lasting:
                self._owners[hw_id] = (target, now)
                return True
            return False
