"""A whole recording: everything the hosts say, as lines of OTLP JSON in order of arrival."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp import encode
from ...formats.otlp.columns import MetricsBatch, SeriesTable
from ...vocabulary.entities import Entity
from ...vocabulary.samples import Event, TelemetryResource
from . import attempts as job_attempts
from . import faults
from .alarms import HostAlarms
from .clocks import HostClocks, watched
from .conditions import ClusterConditions, healthy, settled
from .deliveries import HostDelivery, MetricPush, SeriesPoints
from .events import TimedEvent, TimedEvents
from .lines import DeliveryLines
from .moments import moments
from .placement import host_name
from .series import SimulatedSeries, collectives, gpus, hosts, network, processes, steps, storage
from .series.ranks import PeriodicRankSeries
from .shape import EPOCH, SimulationScenario
from .site import SimulatedSite
from .training import SimulatedAttempt

Array = NDArray[np.float64]


_RUN_UP_SECONDS = 900.0
"""No fault shows anything so long before its onset."""


@dataclass(frozen=True, slots=True)
class RecordingTruth:
    """What really happened: the fault's id, what is at fault, since when (epoch s).

    `effects` are the moments of moments.py (epoch s). `accepted`: other entities that name it as
    well, where it is at several that the vocabulary has no common entity for.
    """

    fault: str
    entity: Entity
    job: str
    onset: float
    effects: Mapping[str, float] = field(default_factory=dict[str, float])
    accepted: tuple[Entity, ...] = ()


@dataclass(frozen=True, slots=True)
class SimulatedRecording:
    """One simulated recording. `truth` is None when nothing went wrong, `also` the second truth.

    `clocks` are the hosts' clocks, `lost` says since when a host sends nothing more.
    """

    scenario: SimulationScenario
    seed: int
    truth: RecordingTruth | None
    attempts: Sequence[SimulatedAttempt]
    series: Sequence[SimulatedSeries]
    sayings: Sequence[TimedEvent]
    clocks: HostClocks
    lost: Mapping[int, float]
    also: RecordingTruth | None = None

    @property
    def samples(self) -> int:
        """Return how many samples the recording holds."""
        return sum(len(row.at) for row in self.series)

    def lines(self) -> Iterator[str]:
        """Return the lines, in the order in which a collector would have received them."""
        hosts = range(self.scenario.cluster.hosts)
        writers = [DeliveryLines(partial(self._dates, host)) for host in hosts]
        for delivery in self.deliveries():
            if delivery.push is not None:
                yield writers[delivery.host].metrics(delivery.push.parts)
            elif delivery.saying is not None:
                yield encode.logs_json([self._dated(delivery.saying)])

    def batches(self, table: SeriesTable) -> Iterator[tuple[float, MetricsBatch | list[Event]]]:
        """Return the same content in the same order, decoded already: (arrival, what arrives).

        Much faster than lines, for work on many recordings; arrivals are epoch seconds.
        """
        ids: dict[int, NDArray[np.int32]] = {}
        for delivery in self.deliveries():
            if delivery.push is not None:
                columns = delivery.push.columns(table, ids, partial(self._dates, delivery.host))
                yield EPOCH + delivery.at, MetricsBatch(columns)
            elif delivery.saying is not None:
                yield EPOCH + delivery.at, self._dated(delivery.saying)[1]

    def _dates(self, host: int, at: Array) -> Array:
        """Return what a host's clock says at these true times, in epoch seconds."""
        return at + (EPOCH + self.clocks.ahead(host, at))

    def _dated(self, saying: TimedEvent) -> tuple[TelemetryResource, list[Event]]:
        (at,) = self._dates(saying.host, np.array([saying.at])).tolist()
        event = replace(saying.event, at=at)
        return event.resource, [event]

    def deliveries(self) -> list["HostDelivery"]:
        """Return everything that arrives, in order of arrival."""
        by_host: list[list[SimulatedSeries]] = [[] for _ in range(self.scenario.cluster.hosts)]
        for row in self.series:
            by_host[row.host].append(row)
        found = [push for host, rows in enumerate(by_host) for push in self._pushes(host, rows)]
        found.extend(
            HostDelivery(self._late(said.host, said.sent), said.host, None, said)
            for said in self.sayings
        )
        found.sort(key=lambda delivery: (delivery.at, delivery.host))
        return found

    def _pushes(self, host: int, rows: list[SimulatedSeries]) -> Iterator["HostDelivery"]:
        """Return the deliveries of a host that carry anything."""
        if not rows:
            return
        every = self.scenario.reporting.push
        random = np.random.default_rng([self.seed, 16, host])
        count = int(np.ceil(self.scenario.seconds / every)) + 1
        moments = (np.arange(count) + random.random()) * every
        points = SeriesPoints.of(rows)
        due = np.searchsorted(moments, points.at, side="left")
        order = np.argsort(due, kind="stable")
        points = points.taken(order)
        ends = np.searchsorted(due[order], np.arange(count), side="right").tolist()
        begin = 0
        for number, moment in enumerate(moments.tolist()):
            if moment > self.lost.get(host, np.inf):
                return
            end = ends[number]
            if self._away(host, moment):
                begin = end
                continue
            if end > begin:
                push = MetricPush(rows, points.taken(slice(begin, end)))
                arrival = self._late(host, moment + 0.01 + 0.03 * float(random.random()))
                yield HostDelivery(arrival, host, push, None)
            begin = end

    def _away(self, host: int, at: float) -> bool:
        """Tell whether the host's agent is being restarted at this time."""
        return any(
            which == host and begin <= at < end
            for which, begin, end in self.scenario.reporting.agent_restarts
        )

    def _late(self, host: int, at: float) -> float:
        """Return when something sent at this time arrives."""
        for which, begin, end in self.scenario.reporting.late:
            if which == host and begin <= at < end:
                return end + (at - begin) / (end - begin)
        return at


def _acting(fault: faults.SimulatedFault, attempts: Sequence[SimulatedAttempt]) -> float:
    """Return since when a fault acts: what is so before a step was made begins with the first.

    A fault that `resumes` brings begins with the first step of an attempt after the first.
    """
    resumes = bool(getattr(fault, "resumes", False))
    starts: list[float] = []
    for attempt in attempts:
        if (resumes and not attempt.number) or not len(attempt.steps.start):
            continue
        first, last = float(attempt.steps.start[0].min()), float(attempt.steps.end[-1].max())
        if first <= fault.onset < last:
            return fault.onset  # within a step, or in a pause between two
        if first > fault.onset:
            starts.append(first)
    return min(starts, default=fault.onset)


def simulate(scenario: SimulationScenario, seed: int) -> SimulatedRecording:
    """Return the recording of a scenario; the same seed gives the same recording."""
    cluster, reporting = scenario.cluster, scenario.reporting
    random = np.random.default_rng([seed, 1])
    skew = np.exp(random.normal(0, 1, cluster.hosts * cluster.slots))
    phases = random.uniform(0, 5.0, cluster.hosts)
    offsets = (
        random.normal(0, reporting.clock, cluster.hosts)
        if reporting.clock
        else np.zeros(cluster.hosts)
    )
    for name, offset in reporting.clock_off.items():
        offsets[[host_name(host) for host in range(cluster.hosts)].index(name)] = offset
    acting = [
        faults.build(settings, cluster=cluster, job=scenario.jobs[0], random=drawn)
        for settings, drawn in (
            (scenario.fault, random),
            (scenario.also, np.random.default_rng([seed, 27])),
        )
        if settings
    ]
    onset = min((fault.onset for fault in acting), default=None)

    sound = settled(healthy(cluster, seed))

    @lru_cache(maxsize=4096)
    def conditions(at: float) -> ClusterConditions:
        if onset is None or at < onset - _RUN_UP_SECONDS:
            return sound
        state = healthy(cluster, seed)
        for fault in acting:
            fault.act(state, at)
        return settled(state)

    site = SimulatedSite(cluster, reporting, scenario.seconds, phases, offsets, conditions, seed)
    found: list[SimulatedAttempt] = []
    series: list[SimulatedSeries] = []
    sayings = TimedEvents(cluster=cluster, reporting=reporting, seed=seed)
    for number, job in enumerate(scenario.jobs):
        for attempt in job_attempts.live(
            job,
            cluster=cluster,
            seconds=scenario.seconds,
            skew=skew**job.skew,
            conditions=conditions,
            random=np.random.default_rng([seed, 2, number]),
        ):
            found.append(attempt)
            sayings.of(attempt)
            series += steps.series(attempt, site)
            series += PeriodicRankSeries(attempt, site).series()
            series += processes.series(attempt, site)
    ports = network.series(found, site)
    alarms = HostAlarms(
        site,
        onset=onset,
        records=[record for fault in acting for record in faults.written(fault, cluster)],
    )
    alarms.collect(ports)
    series += hosts.series(found, site)
    series += processes.shared_memory(found, site)
    series += storage.series(found, site)
    series += ports
    series += gpus.DeviceSeries(found, site, status=alarms.status, codes=alarms.codes).series()
    series += collectives.series(found, site)
    clocks = watched(site, steady=all(fault.id != "host.clock_skew" for fault in acting))
    last = conditions(scenario.seconds)
    lost = dict.fromkeys(np.flatnonzero(last.silent).tolist(), last.lost_at)
    truths: list[RecordingTruth] = []
    for fault in acting:
        first = scenario.jobs[0]
        ours = [row for row in found if row.job is first]
        seen = float(getattr(fault, "seen_from", fault.onset))
        there = [row for row in ours if row.born <= seen] or ours[:1]
        if getattr(fault, "resumes", False):
            there = [row for row in ours if row.number] or there
        entity = fault.entity(cluster, there[-1].seats, first.name)
        since = _acting(fault, ours)
        seen_at = moments(ours, since, sound, conditions, gpus=cluster.gpus)
        effects = {name: EPOCH + at for name, at in seen_at.items()}
        others = faults.accepted(fault, cluster, there[-1].seats, first.name)
        truths.append(RecordingTruth(fault.id, entity, first.name, EPOCH + since, effects, others))
        sayings.of_fault(fault, there[-1])
    events = [*sayings.found, *alarms.sayings]
    truth, also = (*truths, None, None)[:2]
    return SimulatedRecording(scenario, seed, truth, found, series, events, clocks, lost, also)
