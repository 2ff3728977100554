"""What is known of a node: its devices, its own metrics, the ranks placed there.

Readings that carry a rank lie with its job, all others with the host; here they are put together.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...detectors.window import Floats
from .hosts import HostNumbers
from .queries import SeriesRow, topology, variant
from .windows import TelemetryWindows

_OF_NODES = ("hw.", "system.")
"""Metrics of a device or a host; what a process or a rank reports of itself is shown by its job."""

Permits = Callable[[str], bool]
"""Whether what lies with a job may be shown."""


class HasWindows(Protocol):
    """Who holds the windows: the pipeline."""

    windows: TelemetryWindows


@dataclass(frozen=True, slots=True)
class NewestReading:
    """The newest value of one series, and when it was read."""

    metric: str
    attributes: Mapping[str, str]
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class NodeSummary:
    """A host. ranks: by job, those placed there now. last_received: by the collector's clock."""

    host: str
    last_received: float
    switch: str | None
    ranks: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class DeviceDetail:
    """A device of a host; index: its number there, None where nothing describes it."""

    readings: list[NewestReading]
    index: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class HostDetail:
    """A host in full: readings of itself, and its devices by id."""

    summary: NodeSummary
    readings: list[NewestReading]
    devices: dict[str, DeviceDetail]


def nodes(windows: TelemetryWindows) -> list[NodeSummary]:
    """Return every host that reported and is not forgotten, by name."""
    placed: dict[str, dict[str, tuple[int, ...]]] = {}
    switches: dict[str, str] = {}
    for attempt in windows.current():
        topology = windows.topology(attempt)
        switches |= topology.switches
        for host in topology.hosts:
            ranks = tuple(sorted(topology.ranks_of_host(host)))
            if ranks:
                placed.setdefault(host, {})[attempt.job] = ranks
    known = windows.known_hosts
    return [
        NodeSummary(
            host,
            _last_received(known, number),
            known.switches.get(host) or switches.get(host),
            placed.get(host, {}),
        )
        for host, number in sorted(known.numbers.items())
        if host and np.isfinite(known.arrived[number])
    ]


def _last_received(known: HostNumbers, number: int) -> float:
    """Return when a host last reported of itself; where it never did, when anything of it came."""
    own = known.reports.last_received.item(number)
    return own if np.isfinite(own) else known.arrived.item(number)


def everything(_job: str) -> bool:
    return True


def nothing(_job: str) -> bool:
    """Permit no job: what nodes report themselves is left."""
    return False


def node(windows: TelemetryWindows, host: str, permits: Permits = everything) -> HostDetail | None:
    """Return a host in full, None for one that never reported.

    Readings that came with jobs are left out where these are not permitted.
    """
    summary = next((row for row in nodes(windows) if row.host == host), None)
    if summary is None:
        return None
    newest: dict[tuple[str | None, str], NewestReading] = {}
    for name, device, at, value in _held(windows, summary, None, permits):
        if not len(at):
            continue
        last = int(np.argmax(at))
        key = (device, name)
        if key not in newest or newest[key].at < at[last]:
            metric = name.partition("|")[0]
            newest[key] = NewestReading(metric, variant(name), float(value[last]), float(at[last]))
    found = HostDetail(summary, [], {})
    described = [windows.known_hosts.devices]
    described += [one.devices for one in windows.current() if permits(one.job)]
    for (device, _), reading in sorted(
        newest.items(), key=lambda row: (row[0][0] or "", row[0][1])
    ):
        if device is None:
            found.readings.append(reading)
            continue
        if device not in found.devices:
            index = next((one.indices[device] for one in described if device in one.indices), None)
            model = next((one.models[device] for one in described if device in one.models), None)
            found.devices[device] = DeviceDetail([], index, model)
        found.devices[device].readings.append(reading)
    return found


def device_ranks(windows: TelemetryWindows, job: str, host: str) -> dict[str, int]:
    found = topology(windows, job)
    if found is None:
        return {}
    return {
        hw_id: rank
        for rank in found.ranks_of_host(host)
        if (row := found.row(rank)) is not None and (hw_id := found.hw_ids[row])
    }


def series(
    windows: TelemetryWindows,
    host: str,
    metric: str,
    start: float,
    end: float,
    permits: Permits = everything,
) -> list[SeriesRow] | None:
    """Return the series of a metric of a host and its devices, None for a host unknown.

    `attributes` carry the device's `hw.id`. What came with jobs is left out where these are not
    permitted.
    """
    summary = next((row for row in nodes(windows) if row.host == host), None)
    if summary is None:
        return None
    found: dict[tuple[str, str], SeriesRow] = {}
    for name, device, at, value in _held(windows, summary, metric, permits):
        inside = (at >= start) & (at <= end)
        if not inside.any():
            continue
        order = np.argsort(at[inside], kind="stable")
        pairs = {**({} if device is None else {"hw.id": device}), **variant(name)}
        row = SeriesRow(None, at[inside][order], value[inside][order], pairs)
        key = (device or "", name)
        if key not in found or len(found[key].at) < len(row.at):
            found[key] = row
    return [found[key] for key in sorted(found)]


def _held(
    windows: TelemetryWindows, summary: NodeSummary, metric: str | None, permits: Permits
) -> Iterator[tuple[str, str | None, Floats, Floats]]:
    """Yield (plane's name, device, at, value) of every series, all of it or the newest reading.

    What the node reports itself is yielded from no job.
    """

    def wanted(name: str) -> bool:
        base = name.partition("|")[0]
        return base.startswith(_OF_NODES) if metric is None else base == metric

    for plane, row, device in windows.of_node(summary.host, permits):
        if not wanted(plane.name):
            continue
        if metric is None:
            yield plane.name, device, plane.last_at[[row]], plane.last_value[[row]]
            continue
        at, value = plane.read(np.array([row]), -np.inf, np.inf)
        known = np.isfinite(at[0]) & np.isfinite(value[0])
        yield plane.name, device, at[0][known], value[0][known]
    own = {(plane.name, device) for plane, _, device in windows.of_node(summary.host, nothing)}
    for job in filter(permits, summary.ranks):
        attempt = windows.attempt(job)
        if attempt is None:
            continue
        window = windows.window(attempt, attempt.last_received)
        rows = np.flatnonzero(window.host_of == window.hosts.index(summary.host))
        for name in filter(wanted, window.rank_readings):
            held = window.rank_readings[name].of(rows)
            if metric is None:
                value, at = (part[:, None] for part in held.latest())
            else:
                at, value = held.at, held.value
            for place, row in enumerate(rows.tolist()):
                known = np.isfinite(at[place]) & np.isfinite(value[place])
                if (name, window.hw_ids[row]) in own:
                    continue
                if known.any() and window.hw_ids[row]:
                    yield name, window.hw_ids[row], at[place][known], value[place][known]
