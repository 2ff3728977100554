"""The past of a store, tick by tick, for a replay."""

from collections.abc import Callable, Iterator

from ..recordings.otlp_lines import RecordingError
from ..settings.prometheus import PrometheusSettings
from .asking import PrometheusClient, StoreQueryError
from .reading import StoreReading

PAGE_SECONDS = 300.0
"""One query asks for so much time at most."""

TICK_SECONDS = 5.0
"""Replay evaluates as if what was scraped came so often."""


def ticks(
    settings: PrometheusSettings,
    start: float,
    end: float,
    *,
    warn: Callable[[str], None],
) -> Iterator[tuple[float, bytes]]:
    """Yield (time, WriteRequest) of what was scraped in (start, end], in order.

    Raises RecordingError for a store that does not answer. `warn` gets what it warns of, once.
    """
    asking = PrometheusClient(settings)
    reading = StoreReading(settings, asking)
    said: set[str] = set()
    found = False
    at = start
    try:
        while at < end:
            until = min(at + PAGE_SECONDS, end)
            try:
                stretch = reading.read(at, until)
            except StoreQueryError as error:
                raise RecordingError(f"{settings.label}: {error}") from None
            reading.taken(stretch)
            notes = [*stretch.warnings]
            if stretch.left_out:
                notes.append(
                    f"{len(stretch.left_out)} metrics are left out, more than "
                    f"{settings.max_series} series: add matchers or raise max_series"
                )
            for note in notes:
                if note not in said:
                    said.add(note)
                    warn(f"{settings.label}: {note}")
            found |= bool(stretch.series)
            yield from stretch.ticks(TICK_SECONDS)
            at = until
    finally:
        asking.close()
    if not found:
        warn(f"{settings.label}: no metric that is known here was scraped in that time")
