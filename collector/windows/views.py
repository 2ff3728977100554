"""From what is held to what a detector sees: one JobWindow, ranks and hosts as rows."""

from collections.abc import Iterable

import numpy as np

from ...detectors.window import Flags, JobWindow, StepValues
from ...vocabulary.samples import Event
from . import collectives
from .attempt import JobAttempt
from .hosts import FLUSH_SECONDS, HostNumbers
from .joining import joined
from .layout import TopologyLayout
from .placing import SeriesPlacer
from .readings import LazyReadings
from .topology import layout

EVENT_MEMORY_SECONDS = 1800.0


def job_window(
    attempt: JobAttempt,
    hosts: HostNumbers,
    placing: SeriesPlacer,
    now: float,
    until: float | None,
    *,
    learn: bool,
    collective_timeout_seconds: float,
    event_memory_seconds: float,
) -> JobWindow:
    """Return what detectors see of an attempt at `now`; `until` hides what came later."""
    where = layout(attempt, hosts)
    planes = joined(attempt, where, placing)
    steps = attempt.features.refresh(attempt.grid, where.role_of)
    if until is not None:
        steps = _until(steps, until)
    reports = attempt.reports.beside(hosts.reports, where.host_ids, where.topology.hosts)
    offsets = np.abs(hosts.offset[where.host_ids])
    own = (abs(clock.offset) for clock in attempt.clocks.values())
    window = JobWindow(
        job=attempt.job,
        attempt=attempt.number,
        cluster=attempt.cluster,
        now=now,
        ranks=where.ranks,
        hosts=where.topology.hosts,
        host_of=where.host_of,
        world_size=where.topology.world_size,
        steps=steps,
        role_of=where.role_of,
        hw_ids=where.topology.hw_ids,
        pids=where.pids,
        last_received=attempt.grid.last_received[: len(where.ranks)].copy(),
        host_last_received=reports.last_received,
        host_interval=reports.interval,
        host_rarer=reports.rarer,
        rank_readings=LazyReadings(planes.by_rank, until),
        host_readings=LazyReadings(planes.by_host, until),
        groups=collectives.groups(attempt),
        events=_events(attempt, where, hosts, now, until, event_memory_seconds),
        clock_skew=max(float(offsets.max(initial=0.0)), max(own, default=0.0)),
        placed=where.topology,
        attempt_started_at=attempt.start,
        attempt_reported_at=attempt.first_at if attempt.first_at < np.inf else -np.inf,
        collective_timeout_seconds=collective_timeout_seconds,
        newest_world_size=attempt.newest_world_size,
        host_announced=_announced(attempt, where, hosts),
        host_returned=reports.returned_at,
        steps_interval=attempt.grid.arrivals.interval(attempt.start),
        held_baselines=None if until is not None else attempt.baselines,
        processes=planes.processes.view(until),
        hw_models={**attempt.devices.models, **hosts.devices.models}
        if attempt.devices.models
        else hosts.devices.models,
        searches=attempt.held_events.searches,
        claimed_ranks=attempt.placements.claimed_ranks()
        if attempt.checked and attempt.claims
        else frozenset(),
    )
    attempt.baselines.frozen = not learn
    if until is None:
        attempt.baselines.record(window.features)
    if learn and until is None:
        attempt.baselines.learn(window.features)
    return window


def _announced(attempt: JobAttempt, where: TopologyLayout, hosts: HostNumbers) -> Flags:
    """Return [hosts] which announced the end of their agent, and of which no rank reports since."""
    flags = hosts.announced(where.host_ids)
    if flags.any():
        newest = np.full(len(flags), -np.inf)
        placed = where.host_of >= 0
        last = attempt.grid.last_received[: len(where.ranks)]
        np.maximum.at(newest, where.host_of[placed], last[placed])
        flags &= newest <= hosts.announced_at[where.host_ids] + FLUSH_SECONDS
    return flags


def _until(steps: StepValues, until: float) -> StepValues:
    hidden = steps.at > until
    planes = {name: np.where(hidden, np.nan, plane) for name, plane in steps.planes.items()}
    at = np.where(hidden, np.nan, steps.at)
    kept = np.isfinite(at).any(axis=0)
    return StepValues(
        steps.index[kept], at[:, kept], {name: plane[:, kept] for name, plane in planes.items()}
    )


def _events(
    attempt: JobAttempt,
    where: TopologyLayout,
    hosts: HostNumbers,
    now: float,
    until: float | None,
    memory: float,
) -> tuple[Event, ...]:
    """Return the attempt's events and those of its hosts, oldest first, ranks filled in by pid."""
    versions = (
        attempt.events.count,
        int(hosts.event_counts[where.host_ids].sum()),
        where.topology.version,
    )
    held = attempt.held_events
    if held.versions != versions:
        sources: list[Iterable[tuple[Event, float]]] = [attempt.changed_before, attempt.events]
        sources += [found for host in where.topology.hosts if (found := hosts.events.get(host))]
        held.refresh(sources, where.topology, attempt.placements, versions)
    events = held.events
    if len(events) and now - held.received.min() > memory:
        kept = now - held.received <= memory
        events = tuple(event for event, keep in zip(events, kept, strict=True) if keep)
    if until is not None:
        events = tuple(event for event in events if event.at <= until)
    return events
