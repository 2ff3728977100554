"""From what is remembered to what a detector sees: one JobWindow, ranks and hosts as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Group, Ints, JobWindow, Readings, Steps
from ...vocabulary.samples import Attributes, Event, Scalar
from .attempt import Attempt
from .attributes import rank_of, source_order

if TYPE_CHECKING:
    from .windows import Windows

EVENT_MEMORY_SECONDS = 1800.0

_PLACE = {
    "rank", "pid", "container.pid", "hw.id", "gpu", "source", "quality", "hw.vendor",
    "local_rank", "world_size", "framework", "dp", "tp", "pp", "ep",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowsOf:
    """Ring rows by metric: [ranks] and [hosts], -1 where there is none."""

    by_rank: Mapping[str, Ints]
    by_host: Mapping[str, Ints]


def variant(name: str, attributes: Attributes) -> str:
    """Return a metric's name with the attributes that tell its series apart on one rank or host.

    `hw.gpu.throttle|thermal_hw`, `hw.frequency|sm`, `system.filesystem.utilization|/scratch`; a
    dataloader worker's series get `|dataloader`, a trainer's nothing.
    """
    valid = [
        str(value)
        for key, value in attributes
        if key not in _PLACE and not (key == "role" and value == "trainer") and key != "cgroup"
    ]
    return "|".join([name, *valid])


def job_window(windows: Windows, attempt: Attempt, now: float, until: float | None) -> JobWindow:
    """Return what detectors see of an attempt at `now`; `until` hides what came later."""
    grid = attempt.grid
    ranks = np.array(grid.ranks, np.int64)
    hosts = attempt.hosts()
    index_of = {host: number for number, host in enumerate(hosts)}
    places = [attempt.places[rank] for rank in grid.ranks]
    mapping = _mapping(windows, attempt, hosts)
    last_received = np.maximum(
        grid.last_received[: len(ranks)], _heard(windows, mapping, len(ranks))
    )
    steps = grid.view()
    if until is not None:
        steps = _until(steps, until)
    host_ids = [windows.host_ids[host] for host in hosts]
    roles: dict[tuple[int, ...], int] = {}
    return JobWindow(
        job=attempt.job,
        attempt=attempt.number,
        cluster=attempt.cluster,
        now=now,
        ranks=ranks,
        hosts=hosts,
        host_of=np.array([index_of.get(place.host, -1) for place in places], np.int64),
        world_size=max(attempt.world_size, len(ranks)),
        steps=steps,
        role_of=np.array(
            [roles.setdefault(place.coordinates, len(roles)) for place in places], np.int64
        ),
        hw_ids=tuple(place.hw_id for place in places),
        pids=np.array([place.pid if place.pid is not None else -1 for place in places], np.int64),
        last_received=last_received,
        host_last_received=np.array(
            [windows.host_last_received[number] for number in host_ids], np.float64
        ),
        host_interval=np.array([windows.host_interval[number] for number in host_ids], np.float64),
        rank_readings=LazyReadings(windows, mapping.by_rank, until),
        host_readings=LazyReadings(windows, mapping.by_host, until),
        groups=_groups(windows, attempt),
        events=_events(windows, attempt, hosts, now, until),
        clock_skew=max((abs(windows.clock_offset(host)) for host in hosts), default=0.0),
    )


class LazyReadings(Mapping[str, Readings]):
    """Readings gathered from the rings when somebody asks for them, once a window."""

    def __init__(self, windows: Windows, rows: Mapping[str, Ints], until: float | None) -> None:
        self._rings, self._rows, self._until = windows.rings, rows, until
        self._gathered: dict[str, Readings] = {}

    def __getitem__(self, name: str) -> Readings:
        found = self._gathered.get(name)
        if found is None:
            found = self._gathered[name] = self._gather(self._rows[name])
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _gather(self, rows: Ints) -> Readings:
        known = rows[:, None] >= 0
        at = np.where(known, self._rings.at[rows], np.nan)
        value = np.where(known, self._rings.value[rows], np.nan)
        if self._until is not None:
            later = at > self._until
            at, value = np.where(later, np.nan, at), np.where(later, np.nan, value)
        return Readings(at, value)


def _until(steps: Steps, until: float) -> Steps:
    hidden = steps.at > until
    planes = {name: np.where(hidden, np.nan, plane) for name, plane in steps.planes.items()}
    at = np.where(hidden, np.nan, steps.at)
    kept = np.isfinite(at).any(axis=0)
    return Steps(
        steps.index[kept], at[:, kept], {name: plane[:, kept] for name, plane in planes.items()}
    )


def _mapping(windows: Windows, attempt: Attempt, hosts: tuple[str, ...]) -> RowsOf:
    versions = (attempt.version, windows.version)
    if attempt.mapping is not None and attempt.mapping[0] == versions:
        return cast("RowsOf", attempt.mapping[1])
    row_of = {rank: row for row, rank in enumerate(attempt.grid.ranks)}
    by_pid, by_device = _whereabouts(attempt)
    by_rank: dict[str, Ints] = {}
    by_host: dict[str, Ints] = {}
    best: dict[tuple[str, bool, int], tuple[int, float]] = {}
    for number, host in enumerate(hosts):
        for series_id in windows.host_series.get(host, ()):
            series = windows.table[series_id]
            if series.resource.job not in (None, attempt.job):
                continue
            if series.resource.job is not None and series.resource.attempt != attempt.number:
                continue
            pairs = dict(series.attributes)
            if "group" in pairs:
                continue
            rank = _rank_of(pairs, host, series.resource.job, by_pid, by_device)
            if rank is None and (pairs.keys() & {"pid", "hw.id"}):
                continue
            name = variant(series.metric, series.attributes)
            place = row_of.get(rank, -1) if rank is not None else number
            if place < 0:
                continue
            table, rows = (by_rank, len(row_of)) if rank is not None else (by_host, len(hosts))
            ring = windows.ring_row(series_id)
            key = (name, rank is not None, place)
            # Of several series for one place the better source wins, then the newest.
            claim = (-source_order(pairs), float(windows.rings.last_at[ring]))
            if key in best and best[key] > claim:
                continue
            best[key] = claim
            table.setdefault(name, np.full(rows, -1, np.int64))[place] = ring
    mapping = RowsOf(by_rank, by_host)
    attempt.mapping = (versions, mapping)
    return mapping


def _whereabouts(attempt: Attempt) -> tuple[dict[tuple[str, int], int], dict[tuple[str, str], int]]:
    """Return ranks by (host, pid) and by (host, hw.id)."""
    by_pid = {(p.host, p.pid): rank for rank, p in attempt.places.items() if p.pid is not None}
    by_device = {(p.host, p.hw_id): rank for rank, p in attempt.places.items() if p.hw_id}
    return by_pid, by_device


def _rank_of(
    pairs: dict[str, Scalar],
    host: str,
    job: str | None,
    by_pid: Mapping[tuple[str, int], int],
    by_device: Mapping[tuple[str, str], int],
) -> int | None:
    rank = rank_of(pairs)
    if job is not None and rank is not None:
        return rank
    pid, device = pairs.get("pid"), pairs.get("hw.id")
    if isinstance(pid, int) and (host, pid) in by_pid:
        return by_pid[host, pid]
    if isinstance(device, str) and (host, device) in by_device:
        return by_device[host, device]
    return None


def _heard(windows: Windows, mapping: RowsOf, ranks: int) -> NDArray[np.float64]:
    last_received = np.full(ranks, -np.inf)
    for name in ("training.progress.age", "training.rank.info"):
        for metric, rows in mapping.by_rank.items():
            if metric.partition("|")[0] == name:
                valid = np.where(rows >= 0, windows.rings.last_received[rows], -np.inf)
                last_received = np.maximum(last_received, valid)
    return last_received


def _groups(windows: Windows, attempt: Attempt) -> list[Group]:
    row_of = {rank: row for row, rank in enumerate(attempt.grid.ranks)}
    groups = []
    for name, held in sorted(attempt.groups.items()):
        members = sorted({rank for rows in held.rows.values() for rank in rows if rank in row_of})
        if not members:
            continue

        def valid(counter: str, rings: Floats, nothing: float) -> Floats:
            rows = held.rows.get(counter, {})  # noqa: B023  used within this turn only
            return np.array(
                [rings[rows[rank]] if rank in rows else nothing for rank in members],  # noqa: B023
                np.float64,
            )

        groups.append(
            Group(
                name=name,
                kind=held.kind,
                rows=np.array([row_of[rank] for rank in members], np.int64),
                enqueued=valid("enqueued", windows.rings.last_value, np.nan),
                completed=valid("completed", windows.rings.last_value, np.nan),
                at=np.maximum(
                    valid("enqueued", windows.rings.last_at, -np.inf),
                    valid("completed", windows.rings.last_at, -np.inf),
                ),
                changed_at=np.maximum(
                    valid("enqueued", windows.rings.changed_at, -np.inf),
                    valid("completed", windows.rings.changed_at, -np.inf),
                ),
            )
        )
    return groups


def _events(
    windows: Windows, attempt: Attempt, hosts: tuple[str, ...], now: float, until: float | None
) -> tuple[Event, ...]:
    """Return the attempt's events and those of its hosts, oldest first, ranks filled in by pid."""
    by_pid, by_device = _whereabouts(attempt)
    found: list[Event] = []
    sources = [attempt.events, *(windows.host_events.get(host, ()) for host in hosts)]
    for source in sources:
        for event, last_received in source:
            if now - last_received > EVENT_MEMORY_SECONDS or (
                until is not None and event.at > until
            ):
                continue
            pairs = dict(event.attributes)
            rank = _rank_of(pairs, event.resource.host, event.resource.job, by_pid, by_device)
            pairs.pop("rank", None)
            if rank is not None:
                pairs["rank"] = rank
            found.append(Event(event.name, event.at, pairs, event.resource))
    return tuple(sorted(found, key=lambda event: (event.at, event.name, str(event.attributes))))
