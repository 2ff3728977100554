"""Windows: where every decoded point goes, and the job windows that detectors look at.

A series is placed once, when it is first seen; from then on a batch is a few array operations.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import Floats, Ints, JobWindow
from ...formats.otlp.columns import MetricsBatch, SeriesTable
from ...vocabulary.ids import Job
from ...vocabulary.samples import Event
from ...vocabulary.topology import Topology
from . import restarts, views
from .attempt import Attempt
from .attempts import Attempts
from .attributes import rank_of
from .hosts import Hosts
from .placing import FORGOTTEN, PLACED, Placing
from .steps import StepGrid
from .topology import layout

FUTURE_SECONDS = 60.0
"""A point further ahead of `now`, its host's clock offset taken off, has no usable time."""

MOST_ATTEMPTS_A_JOB = 3
FORGET_SECONDS = 12 * 3600.0

LIVE = ("training.progress.age", "training.rank.info")
"""Reported by a process that lives, steps or not."""

T = TypeVar("T")


class Windows:
    """What the collector holds. All methods belong to the thread that owns the pipeline."""

    def __init__(self, table: SeriesTable) -> None:
        self.table = table
        self.collective_timeout_seconds = 600.0
        """What collectives of the jobs may take."""
        self.known_hosts = Hosts()
        self._attempts = Attempts()
        self._placing = Placing(table, self.known_hosts, self._attempts)
        self.ignored = 0
        self.future = 0
        self.expired = 0

    # -- writing ---------------------------------------------------------------------------

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take a decoded batch, received at `now`."""
        columns, placing = batch.columns, self._placing
        series, at, value = columns.series, columns.at, columns.value
        if len(series) and int(series.min()) < 0:
            known = series >= 0
            series, at, value = series[known], at[known], value[known]
        if not len(series):
            return
        if len(self.table) > placing.count:
            restarts.by_start_time(self._attempts, placing, self.table)
            placing.place_new()
        kind = placing.kind[series]
        if (kind == FORGOTTEN).any():
            placing.place(np.unique(series[kind == FORGOTTEN]).astype(np.int64))
            kind = placing.kind[series]
        at = self._received(series, at, now)
        sane = (at > 0) & (at <= now + FUTURE_SECONDS)
        if not sane.all():
            self.future += int((~sane).sum())
            series, at, value, kind = series[sane], at[sane], value[sane], kind[sane]
        attempts = placing.attempt[series]
        for number in _distinct(attempts):
            if number >= 0:
                self._note(number, at[attempts == number], now)
        placed = kind == PLACED
        if not placed.all():
            self.ignored += int((~placed).sum())
            series, at, value = series[placed], at[placed], value[placed]
        self._write(series, at, value, now)

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events, received at `now`."""
        for event in events:
            host = event.resource.host
            number = self.known_hosts.number(host)
            offset = float(self.known_hosts.offset[number])
            if offset:
                event = replace(event, at=event.at - offset)
            if not 0 < event.at <= now + FUTURE_SECONDS:
                # What happened matters more than when: it counts as of now.
                self.future += 1
                event = replace(event, at=now)
            self.known_hosts.received(number, now)
            if event.name == "agent.lifecycle":
                self.known_hosts.lifecycle(number, event, now)
            if event.resource.job is None:
                self.known_hosts.event(host, event, now)
                continue
            attempt = self._attempts.of(
                Job(event.resource.job), event.resource.attempt, event.resource.cluster
            )
            attempt.last_received = max(attempt.last_received, now)
            rank = rank_of(event.attributes)
            if rank is not None:
                row = np.array([attempt.row(rank)])
                if host:
                    attempt.placements.move(row, np.array([number]), only_new=True)
            attempt.events.append((event, now))
            attempt.event_count += 1

    def forget(self, now: float) -> None:
        """Drop attempts that were silent for long, all but the newest few of a job, and hosts."""
        by_job: dict[Job, list[int]] = {}
        for job, number in self.attempts:
            by_job.setdefault(job, []).append(number)
        gone = [
            attempt
            for (job, number), attempt in self.attempts.items()
            if number not in sorted(by_job[job])[-MOST_ATTEMPTS_A_JOB:]
            or now - attempt.last_received >= FORGET_SECONDS
        ]
        for attempt in gone:
            self._attempts.remove(attempt)
        released = self._placing.forget([attempt.number_in_windows for attempt in gone])
        silent = np.flatnonzero(
            now - self.known_hosts.last_received[: len(self.known_hosts.names)] >= FORGET_SECONDS
        )
        released = np.concatenate((released, self._placing.forget_hosts(silent)))
        for number in silent.tolist():
            self.known_hosts.events.pop(self.known_hosts.names[number], None)
        self.expired += len(released)
        self.table.release(released)

    # -- reading ---------------------------------------------------------------------------

    @property
    def attempts(self) -> dict[tuple[Job, int], Attempt]:
        """Return every attempt by job and number."""
        return self._attempts.by_key

    @property
    def host_names(self) -> list[str]:
        """Return every host, in order of appearance."""
        return self.known_hosts.names

    @property
    def nbytes(self) -> int:
        """Return about how many bytes is held, once every slot was written to."""
        held = sum(attempt.nbytes for attempt in self.attempts.values())
        return held + self._placing.nbytes + self._placing.nodes.planes.nbytes + self.table.nbytes

    def current(self) -> list[Attempt]:
        """Return the newest attempt of every job, in the order of their ids."""
        return self._attempts.current()

    def attempt(self, job: str) -> Attempt | None:
        """Return the newest attempt of a job, None when it is not known."""
        return self._attempts.newest(Job(job))

    def topology(self, attempt: Attempt) -> Topology:
        """Return what runs where in an attempt; the same value until something moves."""
        return layout(attempt, self.known_hosts).topology

    def last_received(self, attempt: Attempt) -> float:
        """Return when anything that an attempt's window shows was last received."""
        hosts = self.known_hosts.last_received[layout(attempt, self.known_hosts).host_ids]
        return max(attempt.last_received, float(hosts.max(initial=-np.inf)))

    def window(
        self,
        attempt: Attempt,
        now: float,
        *,
        until: float | None = None,
        incident_open: bool = False,
    ) -> JobWindow:
        """Return what detectors see of an attempt; `until` hides what came later.

        While an incident of the job is open its baselines stay as they are.
        """
        return views.job_window(
            attempt,
            self.known_hosts,
            self._placing,
            now,
            until,
            learn=not incident_open,
            collective_timeout_seconds=self.collective_timeout_seconds,
        )

    def clock_offset(self, host: str) -> float:
        """Return how far a host's clock is ahead, in seconds (negative: behind)."""
        number = self.known_hosts.numbers.get(host)
        return 0.0 if number is None else float(self.known_hosts.offset[number])

    # -- what a batch holds ----------------------------------------------------------------

    def _write(self, series: NDArray[np.int32], at: Floats, value: Floats, now: float) -> None:
        placing = self._placing
        targets = placing.target[series]
        planes, rows = placing.plane[series].astype(np.int64), placing.row[series].astype(np.int64)
        for number in _distinct(targets):
            mine = targets == number
            target = placing.targets[number]
            part = planes[mine], rows[mine], at[mine], value[mine]
            if isinstance(target, StepGrid):
                target.append(*part, now)
            elif target is not None:
                target.append(*part)
                if number % 4 == 1 and number > 4:
                    self._live(number // 4 - 1, *part[:2], now)
        for number in _distinct(placing.attempt[series]):
            attempt = self._attempts.numbered[number] if number >= 0 else None
            if attempt is not None and attempt.new_pids:
                restarts.by_steps(self._attempts, placing, self.table, attempt)

    def _live(self, number: int, planes: Ints, rows: Ints, now: float) -> None:
        """Note which ranks' processes live."""
        attempt = self._attempts.numbered[number]
        if attempt is None:
            return
        numbers = attempt.readings.numbers
        live = [plane for name in LIVE if (plane := numbers.get(name)) is not None]
        reporting = rows[np.isin(planes, live)]
        attempt.grid.last_received[reporting] = now

    def _received(self, series: NDArray[np.int32], at: Floats, now: float) -> Floats:
        """Note which hosts reported; return `at` freed of their clocks' offsets."""
        known = self.known_hosts
        hosts = self._placing.host[series]
        order = np.lexsort((at, hosts))
        edges = np.flatnonzero(np.diff(hosts[order], prepend=-1))
        middles = order[(edges + np.append(edges[1:], len(order)) - 1) // 2]
        off = False
        for number, middle in zip(hosts[order[edges]].tolist(), at[middles].tolist(), strict=True):
            offset = known.clocks[number].update(middle, now)
            known.offset[number] = offset
            known.received(number, now)
            off |= bool(offset)
        return at - known.offset[hosts] if off else at

    def _note(self, number: int, at: Floats, now: float) -> None:
        attempt = self._attempts.numbered[number]
        if attempt is None or not len(at):
            return
        attempt.first_at = min(attempt.first_at, float(at.min()))
        attempt.last_at = max(attempt.last_at, float(at.max()))
        attempt.last_received = max(attempt.last_received, now)


def _distinct(values: NDArray[np.int32]) -> list[int]:
    """Return the distinct values, ascending; quick where there is one, as there mostly is."""
    if not len(values):
        return []
    first = values[0]
    return [int(first)] if (values == first).all() else [int(one) for one in np.unique(values)]
