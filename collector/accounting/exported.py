"""What is exported of jobs and incidents: the families of /metrics, and of long-term stores."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from ...vocabulary.clock import Clock
from ..store.store import IncidentDatabaseStore
from ..windows.queries import JobSummary
from ..windows.waits import WaitReader
from . import families, gains
from .families import MOST_SERIES, MetricFamily
from .gains import RunningGains
from .goodput import GoodputMeter
from .ledger import CostLedger, CostTotals
from .watched import JobSummaries, PipelineReader

REPORTING_SECONDS = 300.0
"""After so long without a report a job's series are stale, as Prometheus' own series are."""
_RECENT_SECONDS = 7 * 86400.0


class IncidentMetrics(Collector):
    """Incidents and their costs, from the ledger; jobs, waits and scores, from the pipeline.

    Jobs without a change for a week are left out, whole: a counter must not go down. Hosts stay:
    one that came back with all that it ever lost would seem to have lost it since.
    """

    def __init__(
        self,
        ledger: CostLedger,
        watched: JobSummaries,
        goodputs: GoodputMeter,
        running: RunningGains,
        *,
        owner: PipelineReader,
        store: IncidentDatabaseStore,
        clock: Clock,
    ) -> None:
        self._ledger = ledger
        self._watched = watched
        self._goodputs = goodputs
        self._running = running
        self._owner = owner
        self._store = store
        self._clock = clock
        self._waits = WaitReader()

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        now = self._clock.now()
        jobs = self._watched.jobs()
        totals = self._ledger.totals(since=now - _RECENT_SECONDS)
        yield _incidents(totals)
        yield _by_fault(families.LOST, {job: row.lost for job, row in totals.items()})
        yield _by_fault(families.CAUSE_LOST, {job: row.measured for job, row in totals.items()})
        yield self._host_lost()
        yield from self._active()
        yield from self._losing()

        ratio = families.GOODPUT.gauge()
        for job, share in self._goodputs.of(jobs[:MOST_SERIES]).items():
            ratio.add_metric((job,), share)
        yield ratio

        reporting = [row for row in jobs if now - row.last_received <= REPORTING_SECONDS]
        yield from _jobs(reporting[:MOST_SERIES], now)
        yield self._awaited(now)
        yield from self._gained(jobs, now)
        yield self._scores({row.job for row in reporting})
        yield from self._outbox()
        yield from self._checks(self._clock.now())

    def _host_lost(self) -> Metric:
        family = families.HOST_LOST.counter()
        lost = self._ledger.lost_by_host()
        worst = sorted(lost, key=lambda host: (-sum(lost[host].values()), host))
        rows = [(host, fault) for host in worst for fault in sorted(lost[host])]
        for host, fault in rows[: families.HOST_LOST.most]:
            family.add_metric((host, fault), lost[host][fault])
        return family

    def _active(self) -> Iterator[Metric]:
        """Yield the incidents that are not resolved, one by one."""
        active = families.INCIDENT.gauge()
        opened = families.INCIDENT_OPENED.gauge()
        lost = families.INCIDENT_LOST.gauge()
        for row in self._ledger.unresolved(most=families.MOST_INCIDENTS):
            job = row.job or ""
            kind, entity, host = "", "", None
            if row.root is not None:
                kind, entity, host = row.root.type, row.root.id, row.root.host
            what = (row.fault, row.severity, row.status)
            active.add_metric((row.id, job, *what, kind, entity, host or ""), 1)
            opened.add_metric((row.id, job), row.opened_at)
            lost.add_metric((row.id, job), row.gpu_seconds_lost)
        yield from (active, opened, lost)

    def _losing(self) -> Iterator[Metric]:
        """Yield the GPUs that incidents take at this moment, by job and by incident."""
        rows = self._owner.read(
            lambda line: [
                (job, incident, fault, gpus)
                for job, each in line.tracker.losses.now.items()
                for incident, (fault, gpus) in each.items()
            ]
        )
        known = self._ledger.rows_of(incident for _, incident, _, _ in rows)
        by_fault: dict[tuple[str, str], float] = {}
        by_incident: dict[tuple[str, str], float] = {}
        for job, incident, fault, gpus in rows:
            by_fault[job, fault] = by_fault.get((job, fault), 0.0) + gpus
            if incident in known:
                name = (incident, known[incident].job or "")
                by_incident[name] = by_incident.get(name, 0.0) + gpus
        for family, found in (
            (families.GPUS_LOST, by_fault),
            (families.INCIDENT_GPUS_LOST, by_incident),
        ):
            gauge = family.gauge()
            for labels in sorted(found, key=lambda key: (-found[key], key))[: family.most]:
                gauge.add_metric(labels, found[labels])
            yield gauge

    def _awaited(self, now: float) -> Metric:
        """Return whom the groups of jobs that still report wait for."""
        family = families.WAITED_FOR.gauge()
        rows = self._owner.read(
            lambda line: self._waits.read(
                line.windows, since=now - REPORTING_SECONDS, most=families.MOST_WAITS
            )
        )
        longest = sorted(rows, key=lambda row: (-row.seconds, row.job, row.group))
        for row in longest[: families.WAITED_FOR.most]:
            labels = (row.job, row.kind, row.group, str(row.rank), row.host or "")
            family.add_metric(labels, row.seconds)
        return family

    def _gained(self, jobs: Sequence[JobSummary], now: float) -> Iterator[Metric]:
        """Yield what running jobs would give back without their slowest hosts, and each host."""
        found = self._running.of(jobs, now)
        by_job, by_host = families.JOB_GAIN.gauge(), families.HOST_GAIN.gauge()
        rows = [(job, row) for job, document in found.items() for row in document.without]
        for job, row in rows[: families.JOB_GAIN.most]:
            by_job.add_metric((job, str(row.removed)), row.an_hour.gpu_hours)
        hosts = gains.by_host((), found, since=now, until=now)
        for host in hosts[: families.HOST_GAIN.most]:
            by_host.add_metric((host.host,), sum(one.an_hour.gpu_hours for one in host.now))
        yield from (by_job, by_host)

    def _scores(self, reporting: set[str]) -> Metric:
        """Return the scores of the ranks that stand out most, of jobs that still report."""
        family = families.SCORE.gauge()
        highest: dict[tuple[str, str, str], float] = {}
        for job, detector, rank, score in self._owner.read(lambda line: line.scores()):
            if job in reporting:
                labels = (str(job), detector, str(rank))
                highest[labels] = max(score, highest.get(labels, 0.0))
        worst = sorted(highest.items(), key=lambda row: (-row[1], row[0]))
        for labels, score in worst[:MOST_SERIES]:
            family.add_metric(labels, score)
        return family

    def _checks(self, now: float) -> Iterator[Metric]:
        """Yield the newest result of each active check of each device."""
        values, verdicts = families.CHECK_VALUE.gauge(), families.CHECK_VERDICT.gauge()
        most = families.CHECK_VERDICT.most
        for row in self._store.newest_checks(since=now - _RECENT_SECONDS, limit=most):
            labels = (row.host, row.device, row.check_name)
            verdicts.add_metric((*labels, row.verdict), 1)
            if row.value is not None:
                values.add_metric(labels, row.value)
        yield from (values, verdicts)

    def _outbox(self) -> Iterator[Metric]:
        queue = self._store.queue()
        messages = families.MESSAGES.gauge()
        for state, count in queue.messages.items():
            messages.add_metric((state,), count)
        yield messages
        age = 0.0
        if queue.oldest_pending_at is not None:
            age = max(0.0, self._clock.now() - queue.oldest_pending_at)
        oldest = families.OLDEST_PENDING.gauge()
        oldest.add_metric((), age)
        yield oldest


def _jobs(jobs: Sequence[JobSummary], now: float) -> Iterator[Metric]:
    """Yield what is known of jobs, a family at a time."""
    info = families.JOB.gauge()
    for row in jobs:
        labels = (row.job, row.cluster or "", str(row.attempt), row.user or "")
        info.add_metric(labels, 1)
    yield info
    shown: Iterable[tuple[MetricFamily, Callable[[JobSummary], float | None]]] = (
        (families.JOB_RANKS, lambda row: row.world_size),
        (families.JOB_HOSTS, lambda row: len(row.hosts)),
        (families.JOB_STEP, lambda row: row.last_step),
        (families.JOB_STEP_SECONDS, lambda row: row.step_seconds),
        (families.JOB_SILENT, lambda row: max(0.0, now - row.last_received)),
    )
    for family, read in shown:
        gauge = family.gauge()
        for row in jobs:
            value = read(row)
            if value is not None:
                gauge.add_metric((row.job,), value)
        yield gauge


def _incidents(totals: Mapping[str | None, CostTotals]) -> Metric:
    family = families.INCIDENTS.gauge()
    counts = sorted(
        ((job or "", *labels), count)
        for job, row in totals.items()
        for labels, count in row.incidents.items()
    )
    for labels, count in counts[:MOST_SERIES]:
        family.add_metric(labels, count)
    return family


def _by_fault(named: MetricFamily, lost: Mapping[str | None, Mapping[str, float]]) -> Metric:
    """Return GPU seconds by job and fault."""
    family = named.counter()
    sums = sorted(
        ((job or "", fault), seconds) for job, row in lost.items() for fault, seconds in row.items()
    )
    for labels, seconds in sums[:MOST_SERIES]:
        family.add_metric(labels, seconds)
    return family
