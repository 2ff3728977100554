"""Windows: where every decoded point goes, and the job windows that detectors look at.

A series is placed once, when it is first seen; from then on a batch is a few array operations.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...detectors.window import JobWindow
from ...formats.otlp.columns import MetricsBatch, Series, SeriesTable
from ...vocabulary import metrics as vocabulary
from ...vocabulary.ids import Job
from ...vocabulary.samples import Event, Scalar
from . import views
from .attempt import MOST_EVENTS, Attempt, GroupRows
from .attributes import plane_name, rank_of, source_order, whole
from .rings import Rings
from .skew import HostClock

IGNORED, STEP, RING, FORGOTTEN = 0, 1, 2, 3

FUTURE_SECONDS = 60.0
"""A point further ahead of `now`, its host's clock offset taken off, has no usable time."""

MOST_ATTEMPTS_A_JOB = 3
FORGET_SECONDS = 12 * 3600.0

LONGEST_CADENCE_SECONDS = 60.0
"""A host that was away for longer was away, and does not report that rarely."""


class Windows:
    """What the collector remembers. All methods belong to the thread that owns the pipeline."""

    def __init__(self, table: SeriesTable) -> None:
        self.table = table
        self.rings = Rings()
        self.attempts: dict[tuple[Job, int], Attempt] = {}
        self.host_ids: dict[str, int] = {}
        self.host_names: list[str] = []
        self.host_series: dict[str, list[int]] = {}
        self.host_last_received: list[float] = []
        self.host_interval: list[float] = []
        self.host_labels: dict[str, dict[str, Scalar]] = {}
        self.host_events: dict[str, deque[tuple[Event, float]]] = {}
        self.version = 0
        self.ignored = 0
        self.future = 0
        self._clocks: list[HostClock] = []
        self._attempts: list[Attempt] = []
        self._placed = 0
        self._kind = np.zeros(1024, np.int8)
        self._first = np.zeros(1024, np.int64)
        self._second = np.zeros(1024, np.int64)
        self._host = np.zeros(1024, np.int64)
        self._attempt = np.full(1024, -1, np.int64)

    # -- writing ---------------------------------------------------------------------------

    def metrics(self, batch: MetricsBatch, now: float) -> None:
        """Take a decoded batch, received at `now`."""
        columns = batch.columns
        if len(self.table) > self._placed:
            self._place_new()
        known = columns.series >= 0
        series = columns.series[known].astype(np.int64)
        at, value = columns.at[known], columns.value[known]
        if not len(series):
            return
        at = self._hear(series, at, now)
        sane = (at > 0) & (at <= now + FUTURE_SECONDS)
        if not sane.all():
            self.future += int((~sane).sum())
            series, at, value = series[sane], at[sane], value[sane]
            if not len(series):
                return
        kind = self._kind[series]
        if (kind == FORGOTTEN).any():
            self._place_again(np.unique(series[kind == FORGOTTEN]))
            kind = self._kind[series]
        ring = kind == RING
        self.rings.append(self._first[series[ring]], at[ring], value[ring], now)
        self._note_attempts(series, at, now)
        step = kind == STEP
        self.ignored += int(len(kind) - ring.sum() - step.sum())
        if step.any():
            series, at, value = series[step], at[step], value[step]
            owner = self._attempt[series]
            for number in np.unique(owner):
                mine = owner == number
                self._attempts[number].grid.append(
                    self._first[series[mine]],
                    self._second[series[mine]],
                    at[mine],
                    value[mine],
                    now,
                )

    def events(self, events: Sequence[Event], now: float) -> None:
        """Take events, received at `now`."""
        for event in events:
            host = event.resource.host
            number = self._host_id(host)
            offset = self._clocks[number].offset
            if offset:
                event = replace(event, at=event.at - offset)
            if not 0 < event.at <= now + FUTURE_SECONDS:
                # What happened matters more than when: it is reported now.
                self.future += 1
                event = replace(event, at=now)
            self._host_spoke(number, now)
            if event.resource.job is None:
                kept = self.host_events.setdefault(host, deque(maxlen=MOST_EVENTS))
                kept.append((event, now))
                continue
            attempt = self._attempt_of(
                Job(event.resource.job), event.resource.attempt, event.resource.cluster
            )
            attempt.last_received = max(attempt.last_received, now)
            rank = rank_of(event.attributes)
            if rank is not None:
                place = attempt.place(rank)
                place.host = place.host or host
            attempt.events.append((event, now))

    def forget(self, now: float) -> None:
        """Drop attempts that have been silent for long, and all but the newest few of a job."""
        by_job: dict[Job, list[int]] = {}
        for job, number in self.attempts:
            by_job.setdefault(job, []).append(number)
        for (job, number), attempt in list(self.attempts.items()):
            newest = sorted(by_job[job])[-MOST_ATTEMPTS_A_JOB:]
            if number in newest and now - attempt.last_received < FORGET_SECONDS:
                continue
            rows = [int(self._first[s]) for s in attempt.series if self._kind[s] == RING]
            self.rings.release(rows)
            self._kind[attempt.series] = FORGOTTEN
            gone = set(attempt.series)
            for host, held in self.host_series.items():
                self.host_series[host] = [series for series in held if series not in gone]
            del self.attempts[job, number]
            # Its place in the list stays, for series numbers point at it; its matrices go.
            self._attempts[attempt.number_in_windows] = Attempt(job, number)
            self.version += 1

    # -- reading ---------------------------------------------------------------------------

    def current(self) -> list[Attempt]:
        """Return the newest attempt of every job, in the order of their ids."""
        newest: dict[Job, Attempt] = {}
        for (job, number), attempt in self.attempts.items():
            if job not in newest or number > newest[job].number:
                newest[job] = attempt
        return [newest[job] for job in sorted(newest)]

    def attempt_of(self, job: str) -> Attempt | None:
        """Return the newest attempt of a job, None when it is not known."""
        return next((attempt for attempt in self.current() if attempt.job == job), None)

    def window(self, attempt: Attempt, now: float, *, until: float | None = None) -> JobWindow:
        """Return what detectors see of an attempt; `until` hides what came later."""
        return views.job_window(self, attempt, now, until)

    # -- placing ---------------------------------------------------------------------------

    def _place_new(self) -> None:
        count = len(self.table)
        while count > len(self._kind):
            self._kind = np.concatenate((self._kind, np.zeros_like(self._kind)))
            self._first = np.concatenate((self._first, np.zeros_like(self._first)))
            self._second = np.concatenate((self._second, np.zeros_like(self._second)))
            self._host = np.concatenate((self._host, np.zeros_like(self._host)))
            self._attempt = np.concatenate((self._attempt, np.full_like(self._attempt, -1)))
        for number in range(self._placed, count):
            self._place(number, self.table[number])
        self._placed = count
        self.version += 1

    def _place_again(self, series: NDArray[np.int64]) -> None:
        """Place series that speak again although their attempt was forgotten."""
        for number in series:
            self._kind[number] = IGNORED
            self._place(int(number), self.table[int(number)])
        self.version += 1

    def _place(self, number: int, series: Series) -> None:
        resource = series.resource
        self._host[number] = self._host_id(resource.host)
        for name, value in resource.extra:
            self.host_labels.setdefault(resource.host, {})[name] = value
        attempt = None
        if resource.job is not None:
            attempt = self._attempt_of(Job(resource.job), resource.attempt, resource.cluster)
            self._attempt[number] = attempt.number_in_windows
        metric = vocabulary.catalogue().get(series.metric)
        if metric is None or metric.cadence == "sample":
            return
        pairs = dict(series.attributes)
        rank = rank_of(pairs)
        if attempt is not None and rank is not None:
            place = attempt.place(rank)
            if resource.host:
                place.host = resource.host
            attempt.version += 1
        if attempt is not None and metric.cadence == "step":
            # A single process that names no rank is rank 0.
            place = attempt.place(0 if rank is None else rank)
            place.host = place.host or resource.host
            row = attempt.grid.row(0 if rank is None else rank)
            plane = attempt.grid.plane(plane_name(series.metric, metric, pairs))
            may_write, worse = attempt.grid.claim(plane, row, source_order(pairs), number)
            if worse >= 0:
                self._kind[worse] = IGNORED
            if may_write:
                self._kind[number] = STEP
                self._first[number], self._second[number] = plane, row
                attempt.series.append(number)
            return
        if attempt is not None and metric.name == "training.rank.info" and rank is not None:
            _take_info(attempt, rank, pairs)
        if attempt is not None and metric.name == "collective.group.info":
            _take_group(attempt, pairs)
            return
        self._kind[number] = RING
        self._first[number] = self.rings.add()
        self.host_series.setdefault(resource.host, []).append(number)
        if attempt is not None:
            attempt.series.append(number)
            group = pairs.get("group")
            if rank is not None and isinstance(group, str):
                held = attempt.groups.setdefault(group, GroupRows(group.partition(":")[0]))
                counter = series.metric.removeprefix("collective.")
                if counter in ("enqueued", "started", "completed"):
                    held.rows.setdefault(counter, {})[rank] = int(self._first[number])

    def _attempt_of(self, job: Job, number: int, cluster: str | None) -> Attempt:
        found = self.attempts.get((job, number))
        if found is None:
            found = Attempt(job, number, cluster, number_in_windows=len(self._attempts))
            self.attempts[job, number] = found
            self._attempts.append(found)
        return found

    def _host_id(self, host: str) -> int:
        found = self.host_ids.get(host)
        if found is None:
            found = self.host_ids[host] = len(self.host_names)
            self.host_names.append(host)
            self.host_last_received.append(float("-inf"))
            self.host_interval.append(float("nan"))
            self._clocks.append(HostClock())
        return found

    # -- hearing ---------------------------------------------------------------------------

    def _hear(
        self, series: NDArray[np.int64], at: NDArray[np.float64], now: float
    ) -> NDArray[np.float64]:
        """Note which hosts spoke; return `at` freed of their clocks' offsets."""
        hosts = self._host[series]
        first = int(hosts[0])
        numbers = [first] if (hosts == first).all() else [int(n) for n in np.unique(hosts)]
        for number in numbers:
            mine = slice(None) if len(numbers) == 1 else hosts == number
            offset = self._clocks[number].hear(float(np.median(at[mine])), now)
            self._host_spoke(number, now)
            if offset:
                at = at.copy()
                at[mine] -= offset
        return at

    def _host_spoke(self, number: int, now: float) -> None:
        gap = now - self.host_last_received[number]
        if 0.25 < gap < float("inf"):
            # How often the host speaks: quick to learn a longer pause, slow to unlearn it, so that
            # sources with different periods on one host count as the slowest of them.
            gap = min(gap, LONGEST_CADENCE_SECONDS)
            held = self.host_interval[number]
            self.host_interval[number] = max(gap, 0.95 * held + 0.05 * gap) if held >= 0 else gap
        self.host_last_received[number] = max(self.host_last_received[number], now)

    def _note_attempts(
        self, series: NDArray[np.int64], at: NDArray[np.float64], now: float
    ) -> None:
        owners = self._attempt[series]
        first = int(owners[0])
        numbers = [first] if (owners == first).all() else [int(n) for n in np.unique(owners)]
        for number in numbers:
            if number < 0:
                continue
            attempt = self._attempts[number]
            mine = at if len(numbers) == 1 else at[owners == number]
            attempt.first_at = min(attempt.first_at, float(mine.min()))
            attempt.last_at = max(attempt.last_at, float(mine.max()))
            attempt.last_received = max(attempt.last_received, now)

    def ring_row(self, series: int) -> int:
        """Return the ring row of a periodic series."""
        return int(self._first[series])

    def clock_offset(self, host: str) -> float:
        """Return how far a host's clock is ahead, in seconds (negative: behind)."""
        number = self.host_ids.get(host)
        return 0.0 if number is None else self._clocks[number].offset


def _take_info(attempt: Attempt, rank: int, pairs: dict[str, Scalar]) -> None:
    place = attempt.place(rank)
    place.local_rank = whole(pairs.get("local_rank"))
    place.pid = whole(pairs.get("pid"))
    hw_id = pairs.get("hw.id")
    place.hw_id = str(hw_id) if hw_id else None
    place.framework = str(pairs.get("framework", ""))
    coordinates = (whole(pairs.get("pp")), whole(pairs.get("tp")))
    place.coordinates = tuple(-1 if c is None else c for c in coordinates)
    attempt.world_size = max(attempt.world_size, whole(pairs.get("world_size")) or 0)
    attempt.version += 1


def _take_group(attempt: Attempt, pairs: dict[str, Scalar]) -> None:
    name = pairs.get("group")
    if not isinstance(name, str):
        return
    held = attempt.groups.setdefault(name, GroupRows(name.partition(":")[0]))
    held.kind = str(pairs.get("kind", held.kind))
    held.desc = str(pairs.get("desc", ""))
