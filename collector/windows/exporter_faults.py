"""Fault codes that scraped exporters show, as events: each is reported once, when it appears.

An exporter shows a fault as state: the last code stays for weeks, a count stands where it stood.
What a device showed when it was first read is therefore no news, unless the vendor states that it
is wrong now (`present`). The agent does the same with whole pages (formats/exporters/faults.py);
here series come one by one, in any order, and again and again with the same value. A fault goes
with the job that labels give the device to, whose sender may send nothing for others; else with the
host.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints
from ...formats import fault_reports
from ...formats.otlp.columns import SeriesTable
from ...vocabulary import device_faults
from ...vocabulary.samples import Event, TelemetryResource
from .adoption import unassigned
from .attributes import AttributeColumns

_AWAY_SECONDS = 600.0
"""A verdict (`present`) that was not shown for so long is a new one."""

_MOST_REPORTED = 10_000


@dataclass(frozen=True, slots=True)
class _FaultRegister:
    """A series of fault codes: whose, and how its values are spelled."""

    resource: TelemetryResource
    hw_id: str
    gpu: int | None
    vendor: str
    exporter: str
    kind: str
    code: str
    prefix: str
    format: str

    def spelled(self, value: float) -> str:
        return self.code or fault_reports.spelled(value, self.prefix, self.format)


class ExporterFaults:
    """The fault codes of all devices that are scraped. Arrays are [series]."""

    def __init__(self, table: SeriesTable) -> None:
        self._table = table
        self._registers: dict[int, _FaultRegister] = {}
        self._is_fault = np.zeros(0, np.bool_)
        self._last: Floats = np.zeros(0)
        self._last_at: Floats = np.zeros(0)
        self._first: dict[tuple[int, int], float] = {}
        """When a device was first read, by host and by the pair that names it."""
        self._reports = fault_reports.FaultReports(_MOST_REPORTED)
        self._any = False

    def learn(self, placed: Ints) -> None:
        """Take series that were placed, for the first time or anew."""
        self._fit(len(self._table))
        number = self._table.metric(fault_reports.FAULT)
        for one in placed[self._table.metric_of[placed] == number].tolist():
            if one in self._registers:
                continue  # placed anew, as when its device changed hands
            self._registers[one] = self._register(one)
            self._is_fault[one], self._last[one] = True, np.nan
            self._any = True

    def first(
        self,
        series: NDArray[np.int32],
        at: Floats,
        hosts: NDArray[np.int32],
        columns: AttributeColumns,
    ) -> None:
        """Note since when devices are read, from the first points of series, all [points]."""
        devices = columns.device[self._table.attributes_of[series]]
        order = np.lexsort((at, devices, hosts))
        hosts, devices, times = hosts[order], devices[order], at[order]
        begins = np.append(True, (np.diff(hosts) != 0) | (np.diff(devices) != 0))
        for host, device, first in zip(
            hosts[begins].tolist(), devices[begins].tolist(), times[begins].tolist(), strict=True
        ):
            self._first.setdefault((host, device), first)

    def forget(self, series: NDArray[np.int32]) -> None:
        """Forget series whose numbers others will have."""
        for one in series.tolist():
            if self._registers.pop(one, None) is not None:
                self._is_fault[one] = False

    def take(
        self,
        series: NDArray[np.int32],
        at: Floats,
        value: Floats,
        hosts: NDArray[np.int32],
        columns: AttributeColumns,
    ) -> Iterator[Event]:
        """Yield what is new in points, all [points]."""
        if not self._any:
            return
        self._fit(len(self._table))
        mine = np.flatnonzero(self._is_fault[series])
        if not len(mine):
            return
        numbers, times, values = series[mine], at[mine], value[mine]
        if len(np.unique(numbers)) == len(numbers):
            # A code stands for weeks: mostly nothing has changed.
            same = values == self._last[numbers]
            same &= times - self._last_at[numbers] < _AWAY_SECONDS
            self._last_at[numbers[same]] = times[same]
            mine, numbers = mine[~same], numbers[~same]
            times, values = times[~same], values[~same]
        for place in np.argsort(times, kind="stable").tolist():
            one, point = int(numbers[place]), int(mine[place])
            device = int(columns.device[self._table.attributes_of[one]])
            first = self._first.get((int(hosts[point]), device), np.inf)
            event = self._event(one, float(times[place]), float(values[place]), first)
            if event is not None:
                yield event

    def _event(self, one: int, at: float, value: float, first: float) -> Event | None:
        """Return what a value reports, None where it is no news; `first`: the device's first."""
        found = self._registers[one]
        before, before_at = float(self._last[one]), float(self._last_at[one])
        seen = not np.isnan(before)
        if seen and at <= before_at:
            return None
        self._last[one], self._last_at[one] = value, at
        watched = first < at
        count = 1
        if found.kind in ("last", "present"):
            away = seen and at - before_at >= _AWAY_SECONDS
            again = value == before and not (away and found.kind == "present")
            if not value or again or not (seen or watched or found.kind == "present"):
                return None
        else:
            count = fault_reports.increase(value, before if seen else None, found.kind)
            if count <= 0 or not (seen or watched):
                return None
        code = found.spelled(value)
        if not self._reports.note(found.hw_id, code, found.kind, at):
            return None
        known = device_faults.catalogue().find(found.vendor, code)
        return fault_reports.event(
            at,
            hw_id=found.hw_id,
            gpu=found.gpu,
            code=code,
            vendor=found.vendor,
            exporter=found.exporter,
            count=count,
            more={
                "class": known.fault_class,
                "action": known.immediate or None,
                "investigate": known.investigate or None,
            },
            resource=found.resource,
        )

    def _register(self, one: int) -> _FaultRegister:
        series = self._table[one]
        pairs = dict(series.attributes)
        gpu = pairs.get("gpu")
        sender = series.resource
        nobodys = sender.job is None or unassigned(sender.job)
        return _FaultRegister(
            resource=TelemetryResource(
                sender.host,
                *((None, 0) if nobodys else (sender.job, sender.attempt)),
                sender.cluster,
            ),
            hw_id=str(pairs.get("hw.id", "")),
            gpu=gpu if isinstance(gpu, int) else None,
            vendor=str(pairs.get("hw.vendor", "")),
            exporter=str(pairs.get("exporter", "")),
            kind=str(pairs.get("kind", "")),
            code=str(pairs.get("code", "")),
            prefix=str(pairs.get("prefix", "")),
            format=str(pairs.get("format", "")),
        )

    def _fit(self, count: int) -> None:
        if count > len(self._is_fault):
            more = max(count, 2 * len(self._is_fault)) - len(self._is_fault)
            self._is_fault = np.concatenate((self._is_fault, np.zeros(more, np.bool_)))
            self._last = np.concatenate((self._last, np.full(more, np.nan)))
            self._last_at = np.concatenate((self._last_at, np.zeros(more)))
