"""The time Python's garbage collector takes out of a step."""

import gc
import time
from typing import Any

from .timeline import StepTimeline


class CollectorPauses:
    """Adds every collection to the step in progress: it halts all threads, whoever caused it."""

    def __init__(self, timeline: StepTimeline) -> None:
        self._timeline = timeline
        self._began = 0.0

    def install(self) -> None:
        """Register for the begin and end of every collection."""
        gc.callbacks.append(self._seen)

    def remove(self) -> None:
        """Unregister."""
        if self._seen in gc.callbacks:
            gc.callbacks.remove(self._seen)

    def _seen(self, phase: str, _info: dict[str, Any]) -> None:
        # Nothing here can fail, and an exception here would only be printed by the collector.
        if phase == "start":
            self._began = time.perf_counter()
        elif self._began:
            step, seconds = self._timeline.open, time.perf_counter() - self._began
            step.gc += seconds
            step.counted += seconds
            self._began = 0.0
