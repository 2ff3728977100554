"""What several pipelines have of a host put together: each has the jobs that it evaluates."""

from collections.abc import Iterable, Sequence

from .nodes import DeviceDetail, HostDetail, NodeSummary
from .queries import SeriesRow


def summaries(rows: Iterable[NodeSummary]) -> list[NodeSummary]:
    """Return each host once, by name: the ranks of all rows, the newest receive time."""
    found: dict[str, NodeSummary] = {}
    for row in rows:
        held = found.get(row.host)
        found[row.host] = row if held is None else _summary(held, row)
    return [found[host] for host in sorted(found)]


def node(rows: Sequence[HostDetail]) -> HostDetail | None:
    """Return a host from what each has of it, None where nobody has it."""
    if len(rows) < 2:
        return rows[0] if rows else None
    (summary,) = summaries(row.summary for row in rows)
    newest = sorted(rows, key=lambda row: row.summary.last_received)
    readings = {
        (reading.metric, *sorted(reading.attributes.items())): reading
        for row in newest
        for reading in row.readings
    }
    devices: dict[str, DeviceDetail] = {}
    for row in newest:
        for name, held in row.devices.items():
            devices[name] = _device(held, devices.get(name))
    return HostDetail(
        summary, list(readings.values()), {name: devices[name] for name in sorted(devices)}
    )


def series(rows: Iterable[SeriesRow]) -> list[SeriesRow]:
    """Return series with the same attributes once: the longest."""
    found: dict[tuple[tuple[str, str], ...], SeriesRow] = {}
    for row in rows:
        name = tuple(sorted(row.attributes.items()))
        if name not in found or len(found[name].at) < len(row.at):
            found[name] = row
    return list(found.values())


def _device(newer: DeviceDetail, older: DeviceDetail | None) -> DeviceDetail:
    """Return the newer one, described by either: a pipeline may have readings alone."""
    if older is None:
        return newer
    index = older.index if newer.index is None else newer.index
    return DeviceDetail(newer.readings, index, newer.model or older.model)


def _summary(one: NodeSummary, other: NodeSummary) -> NodeSummary:
    return NodeSummary(
        one.host,
        max(one.last_received, other.last_received),
        one.switch or other.switch,
        {**one.ranks, **other.ranks},
    )
