"""Reads a store stretch by stretch, each sample once, as remote write."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...formats.remote_write import WriteRequest
from ...formats.remote_write.encode import encoded_labels
from ..settings.prometheus import PrometheusSettings
from . import selection
from .asking import PrometheusClient
from .pods import AGAIN_SECONDS, METRICS, PodRegister, pod_of

DISCOVER_SECONDS = 300.0
"""How often at least it is asked anew which metrics there are."""

BODY_SAMPLES = 10_000
_FORGET_SECONDS = 3600.0

_Key = tuple[tuple[str, str], ...]
"""Labels of a series, in the order of the answer."""


@dataclass(slots=True)
class _PolledSeries:
    """A series that was seen: its labels as remote write has them, and its newest sample (ms)."""

    labels: bytes
    newest_ms: int = -1


@dataclass(slots=True)
class PolledStretch:
    """What was read of a stretch: samples by series, and what is to be said of it."""

    found: list[tuple["_PolledSeries", list[tuple[int, float]]]] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    malformed: int = 0

    @property
    def samples(self) -> int:
        """Return how many samples there are."""
        return sum(len(values) for _, values in self.found)

    def bodies(self) -> Iterator[bytes]:
        """Yield WriteRequests of a bounded size."""
        request = WriteRequest()
        for known, values in self.found:
            request.add(known.labels, values)
            if request.samples >= BODY_SAMPLES:
                yield request.body()
                request = WriteRequest()
        if request:
            yield request.body()

    def ticks(self, seconds: float) -> Iterator[tuple[float, bytes]]:
        """Yield (time, WriteRequest) of all that was scraped up to each of some times."""
        by_tick: dict[int, list[tuple[_PolledSeries, tuple[int, float]]]] = {}
        for known, values in self.found:
            for value in values:
                tick = math.ceil(value[0] / 1000 / seconds)
                by_tick.setdefault(tick, []).append((known, value))
        for tick in sorted(by_tick):
            request = WriteRequest()
            for known, value in by_tick[tick]:
                request.add(known.labels, [value])
            yield tick * seconds, request.body()


class StoreReading:
    """Reads one store. What was read counts as read once `taken` was called."""

    def __init__(self, settings: PrometheusSettings, asking: PrometheusClient) -> None:
        self._settings = settings
        self._asking = asking
        self._known: dict[_Key, _PolledSeries] = {}
        self._metrics: frozenset[str] = frozenset()
        self._pages: list[selection.QueryPage] = []
        self._left_out: tuple[str, ...] = ()
        self._warnings: tuple[str, ...] = ()
        self._discovered_at = -math.inf
        self._discover_again = 0.0
        self._pods = PodRegister(asking, settings.matchers)
        self._learnt_at = -math.inf

    @property
    def series(self) -> int:
        return len(self._known)

    def discover(self, at: float) -> None:
        """Ask which metrics there are. Raises StoreQueryError."""
        settings = self._settings
        found: dict[str, int] = {}
        warnings: tuple[str, ...] = ()
        for query in selection.discovery(settings.matchers):
            answer = self._asking.query(query, at)
            warnings = tuple(dict.fromkeys((*warnings, *answer.warnings)))
            for row in answer.result:
                name, count = _counted(row)
                if name:
                    found[name] = found.get(name, 0) + count
        self._pods.there = tuple(name for name in METRICS if found.pop(name, 0))
        # Targets that appear together are scraped one by one: after news there may soon be more.
        news = found.keys() != self._metrics
        longer = self._settings.interval_seconds if news else 2 * self._discover_again
        self._discover_again = min(longer, DISCOVER_SECONDS)
        self._metrics = frozenset(found)
        self._pages, self._left_out = selection.pages(
            found, page_series=settings.page_series, max_series=settings.max_series
        )
        self._warnings = warnings
        self._discovered_at = at

    def read(self, start: float, end: float) -> PolledStretch:
        """Return the samples in (start, end] that were not taken yet. Raises StoreQueryError."""
        if not self._pages or end - self._discovered_at >= self._discover_again:
            self.discover(end)
        stretch = PolledStretch(warnings=self._warnings, left_out=self._left_out)
        for page in self._pages:
            query = selection.samples(page.names, self._settings.matchers, end - start)
            answer = self._asking.query(query, end)
            stretch.warnings = tuple(dict.fromkeys((*stretch.warnings, *answer.warnings)))
            rows = [keyed for row in answer.result if (keyed := _keyed(row, stretch)) is not None]
            self._learn_pods(rows, end)
            for key, row in rows:
                self._take(key, row, stretch, start)
        return stretch

    def taken(self, stretch: PolledStretch) -> None:
        """Note that the samples of a stretch are safe: they are not to come again."""
        newest = 0
        for known, values in stretch.found:
            known.newest_ms = max(known.newest_ms, values[-1][0])
            newest = max(newest, known.newest_ms)
        if len(self._known) > 2 * self._settings.max_series:
            limit = newest - _FORGET_SECONDS * 1000
            self._known = {key: one for key, one in self._known.items() if one.newest_ms >= limit}

    def _learn_pods(self, rows: list[tuple[_Key, Any]], at: float) -> None:
        """Ask which jobs the pods of series belong to; a series that belongs elsewhere moves."""
        if not self._pods.there:
            return
        if at - self._learnt_at < AGAIN_SECONDS:
            rows = [row for row in rows if row[0] not in self._known]
        else:
            self._learnt_at = at
        changed = self._pods.learn((dict(key) for key, _ in rows), at)
        if changed:
            for key, one in self._known.items():
                if pod_of(dict(key)) in changed:
                    one.labels = encoded_labels(self._pods.joined(dict(key)))

    def _take(self, key: _Key, row: Any, stretch: PolledStretch, start: float) -> None:
        try:
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = _PolledSeries(
                    encoded_labels(self._pods.joined(dict(key)))
                )
            after = max(known.newest_ms, int(start * 1000))
            values = [
                (at_ms, float(value))
                for at, value in row["values"]
                if (at_ms := round(at * 1000)) > after
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            stretch.malformed += 1
            return
        if values:
            stretch.found.append((known, values))


def _keyed(row: Any, stretch: PolledStretch) -> tuple[_Key, Any] | None:
    """Return a row with the labels of its series; None, and counted, for what is no series."""
    try:
        key = tuple(row["metric"].items())
        hash(key)
    except (KeyError, TypeError, AttributeError):
        stretch.malformed += 1
        return None
    return key, row


def _counted(row: Any) -> tuple[str, int]:
    """Return name and count of a row of the discovery, "" for anything else."""
    try:
        return str(row["metric"]["__name__"]), int(float(row["value"][1]))
    except (KeyError, TypeError, ValueError, IndexError):
        return "", 0
