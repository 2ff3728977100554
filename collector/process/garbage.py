"""Looking for garbage stops every thread, so what stays is looked through seldom.

The interpreter looks through every object again once there are a quarter more that stay: modules,
layouts of payloads, windows. For a collector of one job that takes 80 ms, in which it takes no
payload. Here what one such look leaves is kept out of the next, until it has grown.
"""

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

_OLDEST_GENERATION = 2
_COUNTED_SECONDS = 60.0
"""How often what is kept out is counted, which goes through all of it."""
_GROWTH = 1.25
"""So many times what the last look through everything has left, and everything is looked through
again: connections that were kept out and have ended are garbage that no other look finds."""


class LongLivedObjects:
    """Keeps what a full collection has left out of the next one."""

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._everything = True
        """Whether nothing is kept out of the collection that comes next."""
        self._left = 0
        """Objects that the last look through everything has left."""
        self._counted_at = 0.0

    def keep_out(self) -> None:
        """Look through what there is, and keep it out from now on; once a process."""
        gc.callbacks.append(self.collected)
        gc.collect()

    def collected(self, phase: str, info: Mapping[str, Any]) -> None:
        """Take note of a collection; the interpreter calls it."""
        if phase != "stop" or info["generation"] != _OLDEST_GENERATION:
            return
        gc.freeze()
        now = self._now()
        if self._everything:
            self._left, self._counted_at = gc.get_freeze_count(), now
            self._everything = False
        elif now - self._counted_at >= _COUNTED_SECONDS:
            self._counted_at = now
            self._everything = gc.get_freeze_count() > self._left * _GROWTH
            if self._everything:
                gc.unfreeze()
