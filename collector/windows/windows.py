"""Windows: where every decoded point goes, and the job windows that detectors look at.

A series is placed once, when it is first seen; from then on a batch is a few array operations.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import JobWindow
from ...formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from ...vocabulary.ids import Job
from ...vocabulary.operations import EVENT as OPERATIONS
from ...vocabulary.samples import CLAIMED, Event
from ...vocabulary.topology import JobTopology
from . import claims, infos, log_texts, restarts, views
from .attempt import JobAttempt, NodePlanes
from .attempts import AttemptRegister
from .attributes import rank_of
from .bounds import BoundNotes, WindowBounds
from .communicators import EVENT as COMMUNICATOR
from .exporter_faults import ExporterFaults
from .hosts import HostNumbers
from .placed import FORGOTTEN, LEFT_OUT, NODE, PLACED
from .placing import SeriesPlacer
from .planes import MetricPlane
from .reporting import HostReports
from .retention import WindowRetention
from .topology import layout
from .writing import PointWriter, distinct

FUTURE_SECONDS = 60.0
"""A point further ahead of `now`, its host's clock offset taken off, has no usable time."""

MOST_USUAL_POINTS, MOST_USUAL = 512, 50_000
"""Batches of up to so many points are remembered, so many of them: the small ones of many hosts."""


class TelemetryWindows:
    """What the collector holds. All methods belong to the thread that owns the pipeline."""

    def __init__(self, table: SeriesTable) -> None:
        self.table = table
        self.collective_timeout_seconds = 600.0
        """What collectives of the jobs may take."""
        self.event_memory_seconds = views.EVENT_MEMORY_SECONDS
        """How long after its receipt an event is shown."""
        self.known_hosts = HostNumbers()
        self._attempts = AttemptRegister()
        self._placing = SeriesPlacer(table, self.known_hosts, self._attempts)
        self._faults = ExporterFaults(table)
        self._reports = HostReports(self.known_hosts, self._attempts)
        self._usual: dict[bytes, tuple[int, int]] = {}
        self._usual_version = 0
        self._writing = self._placing.held = PointWriter(self._placing, self._attempts, table)
        self.notes = BoundNotes()
        """What was left out for its number or size; whoever asks takes them."""
        self.known_hosts.notes = self._attempts.notes = self.notes
        self._retention = WindowRetention(
            table=table,
            hosts=self.known_hosts,
            attempts=self._attempts,
            placing=self._placing,
            faults=self._faults,
            writing=self._writing,
        )
        self.ignored = 0
        self.future = 0

    @property
    def bounds(self) -> WindowBounds:
        """Return how much is held at most."""
        return self._attempts.bounds

    @bounds.setter
    def bounds(self, bounds: WindowBounds) -> None:
        self._attempts.bounds = self.known_hosts.bounds = bounds

    # -- writing ---------------------------------------------------------------------------

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take a decoded batch, received at `now`."""
        self._retention.thin_out()
        columns, placing = batch.columns, self._placing
        series, at, value = columns.series, columns.at, columns.value
        usual = None if batch.scraped else self._usual_owner(series)
        if usual is not None:
            self._take_usual(*usual, columns, now)
            return
        if len(series) and int(series.min()) < 0:
            known = series >= 0
            series, at, value = series[known], at[known], value[known]
        if not len(series):
            return
        new = np.zeros(len(series), np.bool_)
        if len(self.table) > placing.count:
            restarts.by_start_time(self._attempts, placing, self.table)
            before = placing.count
            new = series >= before
            placing.place_new()
            self._faults.learn(np.arange(before, placing.count))
        forgotten = placing.kind[series] == FORGOTTEN
        if forgotten.any():
            self._writing.flush()
            again = np.unique(series[forgotten]).astype(np.int64)
            placing.place(again)
            self._faults.learn(again)
            new |= forgotten
        usual = None if batch.scraped else self._owner(series)
        if usual is not None:
            if len(series) == len(columns.series):
                self._remember_usual(series, usual)
            self._take_usual(*usual, PointColumns(series, at, value), now)
            self._renew_superseded(usual[1:])
            return
        outside = placing.attempt[series] == LEFT_OUT
        if outside.any():
            self.ignored += int(outside.sum())
            inside = ~outside
            series, at, value, new = series[inside], at[inside], value[inside], new[inside]
            if not len(series):
                return
        kind = placing.kind[series]
        if batch.scraped and new.any():
            fresh = series[new]
            self._faults.first(fresh, at[new], placing.host[fresh], placing.attributes)
        attempts, hosts = placing.attempt[series], placing.host[series]
        if batch.scraped:
            at = self._reports.scraped(hosts, attempts, at, now)
        else:
            at = self._reports.reported(hosts, attempts, at, now)
        sane = (at > 0) & (at <= now + FUTURE_SECONDS)
        if not sane.all():
            self.future += int((~sane).sum())
            series, at, value, kind = series[sane], at[sane], value[sane], kind[sane]
            attempts = attempts[sane]
        if batch.scraped:
            hosts = placing.host[series]
            for event in self._faults.take(series, at, value, hosts, placing.attributes):
                self._keep(event, now)
        numbers = distinct(attempts)
        for number in numbers:
            if number >= 0:
                mine = at if len(numbers) == 1 else at[attempts == number]
                self._note(number, float(mine.min()), float(mine.max()), now)
        placed = kind == PLACED
        if not placed.all():
            self.ignored += int((~placed).sum())
            series, at, value = series[placed], at[placed], value[placed]
        self._writing.add(series, at, value, now)
        if any(restarts.possible(self._attempts, number) for number in numbers):
            # Its steps tell where the next attempt begins, before anything else is placed.
            self._writing.flush()
        self._renew_superseded(numbers)

    def _renew_superseded(self, numbers: Iterable[int]) -> None:
        for attempt in [self._attempts.numbered[number] for number in numbers if number >= 0]:
            if attempt is not None and attempt.superseded:
                self._retention.renew(attempt)

    def _usual_owner(self, series: NDArray[np.int32]) -> tuple[int, int] | None:
        """Return host and attempt of series that came together before, None where not just so.

        All of them are placed then, and of one host and one attempt.
        """
        placing = self._placing
        if len(series) > MOST_USUAL_POINTS or len(self.table) > placing.count:
            return None
        if self._usual_version != placing.version:
            self._usual.clear()
            self._usual_version = placing.version
        return self._usual.get(series.tobytes())

    def _owner(self, series: NDArray[np.int32]) -> tuple[int, int] | None:
        """Return host and attempt of placed series, None where they are not all of one."""
        placing = self._placing
        hosts, attempts = placing.host[series], placing.attempt[series]
        if (
            np.count_nonzero(placing.kind[series] != PLACED)
            or np.count_nonzero(hosts != hosts[0])
            or np.count_nonzero(attempts != attempts[0])
        ):
            return None
        return int(hosts[0]), int(attempts[0])

    def _remember_usual(self, series: NDArray[np.int32], owner: tuple[int, int]) -> None:
        if len(series) <= MOST_USUAL_POINTS:
            if len(self._usual) >= MOST_USUAL:
                self._usual.clear()
            self._usual[series.tobytes()] = owner

    def _take_usual(self, host: int, attempt: int, columns: PointColumns, now: float) -> None:
        """Take points as `metrics` does, of placed series of one host and one attempt."""
        series, value = columns.series, columns.value
        at, first, last = self._reports.of_host(host, attempt, columns.at, now)
        if first <= 0 or last > now + FUTURE_SECONDS:
            sane = (at > 0) & (at <= now + FUTURE_SECONDS)
            self.future += int((~sane).sum())
            series, at, value = series[sane], at[sane], value[sane]
            if len(at):
                first, last = float(at.min()), float(at.max())
        if attempt >= 0 and len(at):
            self._note(attempt, first, last, now)
        self._writing.add(series, at, value, now)
        if restarts.possible(self._attempts, attempt):
            self._writing.flush()

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events, received at `now`."""
        self._retention.thin_out()
        for event in map(log_texts.signed, events):
            host = event.resource.host
            number = self.known_hosts.number(host)
            if number is None:
                continue
            attempt = None
            if event.resource.job is not None:
                attempt = self._attempts.of(
                    Job(event.resource.job), event.resource.attempt, event.resource.cluster
                )
            owner = NODE if attempt is None else attempt.number_in_windows
            if offset := self._reports.offset(number, owner, now):
                event = replace(event, at=event.at - offset)
            if not 0 < event.at <= now + FUTURE_SECONDS:
                # What happened matters more than when: it counts as of now.
                self.future += 1
                event = replace(event, at=now)
            if event.resource.job is None or attempt is not None:
                self._reports.received(number, owner, now)
            if event.resource.job is None:
                if event.name == "agent.lifecycle":
                    self.known_hosts.lifecycle(number, event, now)
                self._retention.took(self.known_hosts.event(host, event, now))
                continue
            if attempt is None:
                continue
            attempt.last_received = max(attempt.last_received, now)
            rank = rank_of(event.attributes)
            ranks = np.array([-1 if rank is None else rank])
            if CLAIMED.items() <= event.attributes.items() and not claims.admitted(attempt, ranks):
                if event.name in (OPERATIONS, COMMUNICATOR):
                    continue
                rank = None  # it is kept, and fills no place
            if event.name == OPERATIONS:
                attempt.operations.take(event)
                continue
            if rank is not None and not attempt.fits(ranks, self.bounds.ranks).all():
                self.notes.add("ranks", attempt.job)
            elif rank is not None:
                row = np.array([attempt.row(rank)])
                if host:
                    attempt.placements.move(row, np.array([number]), only_new=True)
            elif host and number not in attempt.heard:
                attempt.heard.add(number)
                attempt.version += 1
            if event.name == COMMUNICATOR:
                self._communicator(attempt, event)
            self._hold(attempt, event, now)
        self._retention.let_events_go()

    def _keep(self, event: Event, now: float) -> None:
        """Keep what an exporter's series show: with the job that its labels name, or the host."""
        resource = event.resource
        if resource.job is None:
            self._retention.took(self.known_hosts.event(resource.host, event, now))
            return
        attempt = self._attempts.of(Job(resource.job), resource.attempt, resource.cluster)
        if attempt is not None:
            self._hold(attempt, event, now)

    def _hold(self, attempt: JobAttempt, event: Event, now: float) -> None:
        before, bound = attempt.events.bytes, self.bounds.events_of_one
        if gone := attempt.events.add(event, now, most_bytes=bound):
            self.notes.add("event_bytes", attempt.job, gone)
        self._retention.took(attempt.events.bytes - before)

    def _note(self, number: int, first: float, last: float, now: float) -> None:
        """Note that points from `first` to `last` were received of an attempt."""
        attempt = self._attempts.numbered[number]
        if attempt is None:
            return
        attempt.first_at = min(attempt.first_at, first)
        attempt.last_at = max(attempt.last_at, last)
        attempt.last_received = max(attempt.last_received, now)

    def _communicator(self, attempt: JobAttempt, event: Event) -> None:
        """Take who is in a communicator, once all of it is known."""
        info = attempt.communicators.take(event, world_size=attempt.world_size)
        if info is not None:
            infos.take_group(attempt, dict(info.attributes), most=self.bounds.ranks)

    def forget(self, now: float, *, watched: Callable[[Job], bool] = lambda _: False) -> None:
        """Drop attempts that were silent for long, all but the newest few of a job, and hosts.

        watched: tells whether something of a job is followed, so that it stays though it is brief.
        """
        self._retention.forget(now, watched)

    # -- reading ---------------------------------------------------------------------------

    @property
    def attempts(self) -> dict[tuple[Job, int], JobAttempt]:
        self._writing.flush()
        return self._attempts.by_key

    @property
    def expired(self) -> int:
        """Return how many series were let go of."""
        return self._retention.expired

    @property
    def host_names(self) -> list[str]:
        """Return every host, in order of appearance."""
        return self.known_hosts.names

    @property
    def nbytes(self) -> int:
        """Return about how many bytes is held, once every slot was written to."""
        held = sum(attempt.nbytes for attempt in self.attempts.values())
        return held + self._placing.nbytes + self._placing.nodes.planes.nbytes + self.table.nbytes

    def current(self) -> list[JobAttempt]:
        """Return the newest attempt of every job, in the order of their ids."""
        self._writing.flush()
        return self._attempts.current()

    def attempt(self, job: str) -> JobAttempt | None:
        """Return the newest attempt of a job, None when it is not known."""
        self._writing.flush()
        return self._attempts.newest(Job(job))

    def topology(self, attempt: JobAttempt) -> JobTopology:
        """Return what runs where in an attempt; the same value until something moves."""
        return layout(attempt, self.known_hosts).topology

    def last_received(self, attempt: JobAttempt) -> float:
        """Return when anything that an attempt's window shows was last received."""
        hosts = self.known_hosts.arrived[layout(attempt, self.known_hosts).host_ids]
        return max(attempt.last_received, float(hosts.max(initial=-np.inf)))

    def event_count(self, attempt: JobAttempt) -> int:
        """Return about how many events an attempt's window shows: its own, and its hosts'."""
        of_hosts = self.known_hosts.events
        hosts = layout(attempt, self.known_hosts).topology.hosts
        return len(attempt.events) + sum(len(of_hosts[host]) for host in hosts if host in of_hosts)

    def window(
        self,
        attempt: JobAttempt,
        now: float,
        *,
        until: float | None = None,
        incident_open: bool = False,
    ) -> JobWindow:
        """Return what detectors see of an attempt; `until` hides what came later.

        While an incident of the job is open its baselines stay as they are.
        """
        self._writing.flush()
        return views.job_window(
            attempt,
            self.known_hosts,
            self._placing,
            now,
            until,
            learn=not incident_open,
            collective_timeout_seconds=self.collective_timeout_seconds,
            event_memory_seconds=self.event_memory_seconds,
        )

    def of_node(
        self, host: str, permits: Callable[[str], bool]
    ) -> list[tuple[MetricPlane, int, str | None]]:
        """Return what node telemetry of a host is held: plane, row, and the device it is of.

        What came with a job is left out where that is not permitted, or the node reports the same
        itself.
        """
        self._writing.flush()
        found = self._rows_of_node(self._placing.nodes, host)
        own = {(plane.name, device) for plane, _, device in found}
        for one in self._attempts.current():
            if permits(one.job):
                found += [
                    row
                    for row in self._rows_of_node(one.nodes, host)
                    if (row[0].name, row[2]) not in own
                ]
        return found

    def _rows_of_node(
        self, nodes: NodePlanes, host: str
    ) -> list[tuple[MetricPlane, int, str | None]]:
        number = self.known_hosts.numbers.get(host, -1)
        pairs = self._placing.attributes.pairs
        return [
            (plane, row, str(pairs[device][1]) if device >= 0 else None)
            for pid, device, row in nodes.of_host.get(number, ())
            if pid < 0
            for plane in nodes.planes.planes
            if row < len(plane.last_at) and np.isfinite(plane.last_at[row])
        ]
