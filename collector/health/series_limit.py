"""Points that are left out because the table of series is full: counted, logged, shown."""

import threading
from collections.abc import Callable

import structlog

from ...formats.otlp.general import NO_ROOM
from ...vocabulary.clock import Clock
from .health import CollectorHealth

_LOG = structlog.get_logger(__name__)
LOG_EVERY_SECONDS = 600.0
ADVICE = (
    "raise evaluation.max_series (RANKSCOPE_EVALUATION__MAX_SERIES), "
    "or send fewer series of each rank"
)


class SeriesLimit:
    """Takes note of refused points; may be called from any thread.

    `series` returns how many series are held, `full` whether the pipeline takes no new ones.
    """

    def __init__(
        self,
        *,
        health: CollectorHealth,
        clock: Clock,
        series: Callable[[], int],
        full: Callable[[], bool],
    ) -> None:
        self._health = health
        self._clock = clock
        self._series = series
        self._full = full
        self._lock = threading.Lock()
        self._unlogged = 0
        self._logged_at: float | None = None

    def refused(self, points: int) -> None:
        """Count refused points; log the first, and then how many more every ten minutes."""
        if not points:
            return
        self._health.series_refused.inc(points)
        with self._lock:
            self._unlogged += points
            now = self._clock.now()
            if self._logged_at is not None and now - self._logged_at < LOG_EVERY_SECONDS:
                return
            self._logged_at, count, self._unlogged = now, self._unlogged, 0
        _LOG.error(
            "the series table is full: points of new series are left out",
            points=count,
            series=self._series(),
            fix=ADVICE,
        )

    def refused_by_decoder(self, reason: str) -> None:
        """Take note of the points that a decoder left out for this reason."""
        for part in reason.split("; "):
            why, _, number = part.rpartition(": ")
            if why.endswith(NO_ROOM) and number.isdecimal():
                self.refused(int(number))

    def warning(self) -> str | None:
        """Return what an operator has to know, None while there is room."""
        if not self._full():
            return None
        return (
            f"the series table is full ({self._series()} series): new ranks, hosts and metrics "
            f"are not seen; {ADVICE}"
        )
