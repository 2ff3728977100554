"""Reads a store stretch by stretch, each sample once, as remote write."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...formats.remote_write import WriteRequest
from ...formats.remote_write.encode import encoded_labels
from ..settings.prometheus import PrometheusSettings
from . import matrices, selection
from .asking import PrometheusClient
from .matrices import MatrixRows
from .pods import AGAIN_SECONDS, METRICS, PodRegister, pod_of

DISCOVER_SECONDS = 300.0
"""How often at least it is asked anew which metrics there are."""

BODY_SAMPLES = 10_000
_FORGET_SECONDS = 3600.0


@dataclass(slots=True)
class _PolledSeries:
    """A series that was seen: its labels as remote write has them, and its newest sample (ms)."""

    labels: bytes
    newest_ms: int = -1


@dataclass(slots=True)
class PolledStretch:
    """What was read of a stretch, and what is to be said of it.

    A sample is a place in `series`, `at_ms` and `values`, which grow together, series by series: a
    tuple for each would have the garbage collector go through the whole process again and again.
    """

    series: list[_PolledSeries] = field(default_factory=list)
    at_ms: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    malformed: int = 0

    @property
    def samples(self) -> int:
        """Return how many samples there are."""
        return len(self.series)

    def bodies(self) -> Iterator[bytes]:
        """Yield WriteRequests of a bounded size."""
        request = WriteRequest()
        for known, at_ms, value in self._rows():
            request.add(known.labels, at_ms, value)
            if request.samples >= BODY_SAMPLES:
                yield request.body()
                request = WriteRequest()
        if request:
            yield request.body()

    def ticks(self, seconds: float) -> Iterator[tuple[float, bytes]]:
        """Yield (time, WriteRequest) of all that was scraped up to each of some times."""
        by_tick: dict[int, WriteRequest] = {}
        for known, at_ms, value in self._rows():
            tick = math.ceil(at_ms / 1000 / seconds)
            by_tick.setdefault(tick, WriteRequest()).add(known.labels, at_ms, value)
        for tick in sorted(by_tick):
            yield tick * seconds, by_tick[tick].body()

    def taken(self) -> None:
        """Note that the samples are safe: they are not to come again."""
        for known, at_ms in zip(self.series, self.at_ms, strict=True):
            known.newest_ms = max(known.newest_ms, at_ms)

    def _rows(self) -> Iterator[tuple[_PolledSeries, int, float]]:
        return zip(self.series, self.at_ms, self.values, strict=True)


class StoreReading:
    """Reads one store. What was read counts as read once `taken` was called."""

    def __init__(self, settings: PrometheusSettings, asking: PrometheusClient) -> None:
        self._settings = settings
        self._asking = asking
        self._known: dict[bytes, _PolledSeries] = {}
        """By the JSON of its labels, as the store writes it."""
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
            answer = self._asking.samples(query, end)
            stretch.warnings = tuple(dict.fromkeys((*stretch.warnings, *answer.warnings)))
            stretch.malformed += answer.rows.malformed
            self._learn_pods(answer.rows.labels, end)
            self._take(answer.rows, stretch, int(start * 1000))
        return stretch

    def taken(self, stretch: PolledStretch) -> None:
        """Note that the samples of a stretch are safe: they are not to come again."""
        stretch.taken()
        if len(self._known) > 2 * self._settings.max_series:
            limit = max(stretch.at_ms, default=0) - _FORGET_SECONDS * 1000
            self._known = {key: one for key, one in self._known.items() if one.newest_ms >= limit}

    def _learn_pods(self, texts: Iterable[bytes], at: float) -> None:
        """Ask which jobs the pods of series belong to; a series that belongs elsewhere moves."""
        if not self._pods.there:
            return
        if at - self._learnt_at < AGAIN_SECONDS:
            texts = (text for text in texts if text not in self._known)
        else:
            self._learnt_at = at
        changed = self._pods.learn(filter(None, map(_labels, texts)), at)
        if changed:
            for text, one in self._known.items():
                labels = _labels(text)
                if labels is not None and pod_of(labels) in changed:
                    one.labels = encoded_labels(self._pods.joined(labels))

    def _take(self, rows: MatrixRows, stretch: PolledStretch, start_ms: int) -> None:
        times: dict[bytes, int] = {}
        for text, row in zip(rows.labels, rows.values, strict=True):
            known = self._known.get(text) or self._new(text)
            if known is None:
                stretch.malformed += 1
                continue
            try:
                at_ms, values = matrices.samples(row, max(known.newest_ms, start_ms), times)
            except (TypeError, ValueError):
                stretch.malformed += 1
                continue
            stretch.series += [known] * len(at_ms)
            stretch.at_ms += at_ms
            stretch.values += values

    def _new(self, text: bytes) -> _PolledSeries | None:
        """Return a series that was not seen before, None for what are no labels."""
        labels = _labels(text)
        if labels is None:
            return None
        known = self._known[text] = _PolledSeries(encoded_labels(self._pods.joined(labels)))
        return known


def _labels(text: bytes) -> dict[str, str] | None:
    """Return a set of labels from its JSON, None for what is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    usual = isinstance(found, dict) and all(isinstance(one, str) for one in found.values())
    return found if usual else None


def _counted(row: Any) -> tuple[str, int]:
    """Return name and count of a row of the discovery, "" for anything else."""
    try:
        return str(row["metric"]["__name__"]), int(float(row["value"][1]))
    except (KeyError, TypeError, ValueError, IndexError):
        return "", 0
