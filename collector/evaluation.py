"""Drives a pipeline through time: the one order of evaluating and applying, live and in replay.

Before an entry is applied, every whole second up to its time is evaluated; a second is therefore
evaluated with exactly the entries whose time is before it. Whoever feeds the same entries with the
same times gets the same calls, and so the same incidents.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..formats.otlp.columns import MetricsBatch, SeriesTable
from ..vocabulary.samples import Event
from .intake.payloads import Decoded

QUIET_SECONDS = 900
"""How long evaluation goes on without any entry. Everything silent together is the end of the data,
so a night without telemetry is neither evaluated second by second nor found to be a fault."""


class Evaluator(Protocol):
    """What a pipeline offers to whoever drives it."""

    @property
    def table(self) -> SeriesTable:
        """Return the series that batches refer to."""
        ...

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take samples."""
        ...

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events."""
        ...

    def evaluate(self, now: float) -> Sequence[Any]:
        """Return what changed at this whole second."""
        ...


class Evaluation:
    """A pipeline and how far its time has come.

    `changed` gets the changes of one second and that second. `failed` gets what a defect of the
    pipeline raised: the stage ("evaluate", "metrics", "events") and the exception; time goes on.
    `took` hears how long each evaluation took, for whoever counts; nothing is decided by it.
    """

    def __init__(
        self,
        pipeline: Evaluator,
        *,
        changed: Callable[[Sequence[Any], float], None],
        failed: Callable[[str, Exception], None],
        took: Callable[[float], None] = lambda _seconds: None,
    ) -> None:
        self._pipeline = pipeline
        self._changed = changed
        self._failed = failed
        self._took = took
        self._judged: int | None = None
        self._quiet_at = 0

    @property
    def evaluated(self) -> int | None:
        """Return the last whole second that was reached, None before the first entry."""
        return self._judged

    def apply(self, entry: Decoded, now: float) -> None:
        """Evaluate what is due before `now`, then take the entry. `now` never goes back."""
        if self._judged is None:
            self._judged = math.floor(now)
        self.until(now)
        self._quiet_at = math.floor(now) + QUIET_SECONDS
        try:
            if entry.metrics is not None:
                self._pipeline.metrics(entry.metrics, now)
            elif entry.events:
                self._pipeline.events(entry.events, now)
        except Exception as error:  # noqa: BLE001  the edge of one entry: it must not end the others
            self._failed("events" if entry.metrics is None else "metrics", error)

    def until(self, now: float) -> None:
        """Evaluate every whole second up to `now`, as long as anything was received lately."""
        if self._judged is None:
            return
        last = math.floor(now)
        for second in range(self._judged + 1, min(last, self._quiet_at) + 1):
            self._judged = second
            began = time.perf_counter()
            try:
                changes = self._pipeline.evaluate(float(second))
            except Exception as error:  # noqa: BLE001  the edge of one evaluation, counted
                self._failed("judge", error)
                continue
            finally:
                self._took(time.perf_counter() - began)
            if changes:
                self._changed(changes, float(second))
        self._judged = max(self._judged, last)
