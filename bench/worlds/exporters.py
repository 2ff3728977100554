"""The exporters of each host: at which cadence, with which gaps, at which clock."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .series import Family, MetricSeries
from .situation import CaseSituation

_READ: tuple[Family, ...] = ("device", "host", "process", "network")
"""Families that are scraped; what ranks report is pushed."""
_FAST = (5.0, 5.0, 5.0, 10.0, 15.0)
_MIXED = (1.0, 5.0, 10.0, 15.0, 30.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class HostExporter:
    """What one host's exporters do; gaps as (begin, end), a step of the clock as (at, seconds)."""

    cadence: float
    agent: float
    shift: float
    offset: float
    stepped: tuple[float, float] | None
    restart: tuple[float, float] | None
    vanishes: tuple[Family, float, float] | None
    late: tuple[float, float, float] | None
    reset: float | None

    def ticks(self, begin: float, end: float, *, agent: bool = False) -> np.ndarray:
        """Return the times of readings: of the exporter, or of the agent's own cadence."""
        step = self.agent if agent else self.cadence
        return np.arange(begin + self.shift % step, end, step)

    def pushed(self, times: np.ndarray, every: float) -> np.ndarray:
        """Return when points are pushed: with the next push, later where a queue holds it back."""
        found = np.ceil((times + 0.05) / every) * every
        if self.late:
            begin, end, seconds = self.late
            found = found + np.where((times >= begin) & (times < end), np.ceil(seconds), 0.0)
        return np.asarray(found)

    def clock(self, times: np.ndarray) -> np.ndarray:
        """Return the times as this host's clock shows them."""
        shown = times + self.offset
        if self.stepped:
            shown = shown + np.where(times >= self.stepped[0], self.stepped[1], 0.0)
        return shown


def exporters(case: CaseSituation) -> list[HostExporter]:
    rng = case.plan.rng("exporters")
    small = case.plan.world < 64
    usual = float(rng.choice(_FAST if small else _FAST[3:]))
    mixed = _MIXED if small else _MIXED[1:]
    found = []
    for index in range(len(case.layout.hosts)):
        cadence = usual
        if case.habit("mixed_cadence") and rng.random() < 0.5:
            cadence = float(rng.choice(mixed))
        at = case.begin + (case.end - case.begin) * rng.uniform(0.1, 0.85, 6)
        stepped = case.habit("clock_step")
        restart = case.habit("agent_restart")
        vanishing = case.habit("vanishing_series")
        late = case.habit("late_data")
        some = rng.random(6) < (0.5, 0.4, 0.3, 0.4, 0.3, 0.5)
        sign = float(rng.choice([-1.0, 1.0]))
        family = _READ[int(rng.integers(4))]
        found.append(
            HostExporter(
                cadence=cadence,
                agent=5.0 if case.plan.world < 32 else 10.0,
                shift=float(rng.uniform(0.0, 60.0)),
                offset=float(rng.normal(0.0, 0.002)),
                stepped=case.clock_leaps.get(index)
                or ((at[0], sign * stepped) if stepped and some[0] else None),
                restart=(at[1], at[1] + restart) if restart and some[1] else None,
                vanishes=(family, at[2], at[2] + vanishing) if vanishing and some[2] else None,
                late=(at[3], at[3] + 120.0, late) if late and some[3] else None,
                reset=at[4] if case.habit("counter_reset") and some[4] else None,
            )
        )
    return found


def as_sent(
    case: CaseSituation, exporter: HostExporter, series: MetricSeries, rng: np.random.Generator
) -> Iterator[MetricSeries]:
    """Yield what arrives of a series: with gaps, by the host's clock, cut where counters reset."""
    mask = np.ones(len(series.times), dtype=bool)
    if exporter.restart:
        mask &= (series.times < exporter.restart[0]) | (series.times >= exporter.restart[1])
    if exporter.vanishes and series.family == exporter.vanishes[0]:
        mask &= (series.times < exporter.vanishes[1]) | (series.times >= exporter.vanishes[2])
    lost = case.habit("partial_scrapes")
    if lost and series.family in _READ:
        mask &= rng.random(len(mask)) >= lost
    series, reset = series.kept(mask), exporter.reset
    parts = [series]
    if series.start is not None and reset and series.family in ("device", "network"):
        before = series.kept(series.times < reset)
        after = series.kept(series.times >= reset)
        base = before.values[-1] if len(before.values) else 0.0
        parts = [before, replace(after, values=after.values - base, start=reset)]
    for part in parts:
        if len(part.times):
            yield replace(part, times=exporter.clock(part.times))
