"""What a scraper reads of a recording: every target at its own offset, late, and not always.

A gauge is repeated for as long as the exporter has nothing newer, and an exporter reads its devices
at its own pace; a scrape now and then fails; an exporter that is started anew is away for a while
and counts from nothing. Fault codes of the past stand on, and devices at their power limit say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankscope.formats.remote_write import WriteRequest
from rankscope.formats.remote_write.encode import encoded_labels
from rankscope.lab.simulator.shape import EPOCH

from ..live.scraped import ScrapedSeries

Array = NDArray[np.float64]

STALE_SECONDS = 300.0
"""An exporter shows a reading for so long."""

XID, REASONS = "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_CLOCKS_EVENT_REASONS"
_IDLE, _POWER_CAP = 1.0, 4.0
_OLD_CODES = (0.0, 0.0, 0.0, 13.0, 43.0, 48.0, 63.0, 79.0)
_UTILIZATION = "DCGM_FI_DEV_GPU_UTIL"


@dataclass(frozen=True, slots=True)
class ScrapeHabits:
    """How a site scrapes; times in seconds.

    `missed` is the share of scrapes that fail, `restarts` how many of an exporter there are an
    hour, `capped` the share of readings in which a busy device is at its power limit. `polled`:
    what was scraped arrives by polls, every `interval`; else by remote write, soon after.
    """

    interval: float = 15.0
    missed: float = 0.002
    restarts: float = 0.5
    capped: float = 0.0
    polled: bool = False


@dataclass(frozen=True, slots=True)
class WriteArrival:
    """A request of remote write, and when it arrives (epoch seconds)."""

    at: float
    body: bytes
    samples: int


def arrivals(
    found: list[ScrapedSeries], habits: ScrapeHabits, *, seconds: float, random: np.random.Generator
) -> list[WriteArrival]:
    """Return everything that arrives of what exporters show, in order."""
    by_target: dict[str, list[ScrapedSeries]] = {}
    for series in found:
        by_target.setdefault(series.target, []).append(series)
    rows: list[tuple[float, float, list[tuple[bytes, float]]]] = []
    for target in sorted(by_target):
        shown = [*by_target[target], *_more(by_target[target], habits, random)]
        for at, values in _scrapes(shown, habits, seconds, random):
            late = float(random.uniform(0.1, 5.0))
            if habits.polled:
                late = -(at + late) % habits.interval + late + 5.0
            rows.append((at + late, at, values))
    rows.sort(key=lambda row: row[:2])
    return [_arrival(*row) for row in rows]


def _arrival(arrives: float, at: float, values: list[tuple[bytes, float]]) -> WriteArrival:
    request = WriteRequest()
    at_ms = round((EPOCH + at) * 1000)
    for labels, value in values:
        request.add(labels, at_ms, value)
    return WriteArrival(EPOCH + arrives, request.body(), request.samples)


def _scrapes(
    shown: list[ScrapedSeries], habits: ScrapeHabits, seconds: float, random: np.random.Generator
) -> Iterator[tuple[float, list[tuple[bytes, float]]]]:
    """Yield the scrapes of one target: when, and what each series showed."""
    offset = float(random.uniform(0, habits.interval))
    times = np.arange(offset, seconds, habits.interval)
    times = times + np.abs(random.normal(0, 0.02, len(times)))
    away = np.sort(random.uniform(0, seconds, random.poisson(habits.restarts * seconds / 3600)))
    back = away + random.uniform(2, 90, len(away))
    good = random.random(len(times)) >= habits.missed
    for begin, end in zip(away.tolist(), back.tolist(), strict=True):
        good &= (times < begin) | (times >= end)
    columns = [_read(series, times, back, random) for series in shown]
    labels = [encoded_labels({**one.labels, "__name__": one.name}) for one in shown]
    for number in np.flatnonzero(good).tolist():
        values = [
            (label, float(column[number]))
            for label, column in zip(labels, columns, strict=True)
            if np.isfinite(column[number])
        ]
        if values:
            yield float(times[number]), values


def _read(series: ScrapedSeries, times: Array, back: Array, random: np.random.Generator) -> Array:
    """Return what a series shows at times, NaN where nothing."""
    if not len(series.at):
        return np.full(len(times), np.nan)
    place = np.searchsorted(series.at, times, side="right") - 1
    value = np.where(place >= 0, series.value[np.maximum(place, 0)], np.nan)
    value[times - series.at[np.maximum(place, 0)] > STALE_SECONDS] = np.nan
    if series.kind == "counter":
        for begun in back.tolist():
            since = times >= begun
            if since.any():
                base = float(value[since][0]) * float(random.uniform(0.999, 1.0))
                value[since] = np.maximum(value[since] - base, 0.0)
    return value


def _more(
    shown: list[ScrapedSeries], habits: ScrapeHabits, random: np.random.Generator
) -> Iterator[ScrapedSeries]:
    """Yield what devices show besides: an old fault code that stands on, and why clocks are low."""
    for series in shown:
        if series.name != _UTILIZATION:
            continue
        code = float(random.choice(_OLD_CODES))
        yield _of_device(series, XID, np.full(len(series.at), code))
        capped = random.random(len(series.at)) < habits.capped
        busy = series.value > 5.0  # percent
        reasons = np.where(busy, np.where(capped, _POWER_CAP, 0.0), _IDLE)
        yield _of_device(series, REASONS, reasons)


def _of_device(series: ScrapedSeries, name: str, value: Array) -> ScrapedSeries:
    return ScrapedSeries(series.target, name, "gauge", series.labels, series.at, value)
