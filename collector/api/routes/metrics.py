"""/metrics: incidents, costs and our own health for Prometheus; no token."""

from collections.abc import Iterator, Mapping

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from ...services import Services
from ..goodput import goodput
from ..ledger import JobTotals, Ledger
from ..watched import Watched

MOST_SERIES = 1000
"""Of each name: enough for a thousand jobs in trouble, and no more when a store grows old."""
SCORE_SECONDS = 300.0
"""After so long without a report a job's scores are stale, as Prometheus' own series are."""
_RECENT_SECONDS = 7 * 86400.0


def router(services: Services, ledger: Ledger, watched: Watched) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["health"])
    registry = CollectorRegistry()
    registry.register(Incidents(services, ledger, watched))

    @routes.get("/metrics", summary="Get metrics for Prometheus", response_class=Response)
    def metrics() -> Response:
        body = generate_latest(registry) + generate_latest(services.health.registry)
        return Response(body, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes


class Incidents(Collector):
    """Incidents and their costs, from the ledger; goodput and scores, from the pipeline.

    Jobs without a change for a week are left out, whole: a counter must not go down.
    """

    def __init__(self, services: Services, ledger: Ledger, watched: Watched) -> None:
        self._services = services
        self._ledger = ledger
        self._watched = watched

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        now = self._services.clock.now()
        jobs = self._watched.jobs()
        totals = self._ledger.totals(since=now - _RECENT_SECONDS)
        yield _incidents(totals)
        yield _lost(totals)

        ratio = GaugeMetricFamily(
            "rankscope_job_goodput_ratio",
            "Share of a job's GPU time that incidents left.",
            labels=("job_id",),
        )
        for job in jobs[:MOST_SERIES]:
            share = goodput(job, self._ledger)
            if share is not None:
                ratio.add_metric((job.job,), share)
        yield ratio

        yield self._scores({row.job for row in jobs if now - row.last_received <= SCORE_SECONDS})
        yield from self._outbox()

    def _scores(self, reporting: set[str]) -> Metric:
        """Return the scores of the ranks that stand out most, of jobs that still report."""
        family = GaugeMetricFamily(
            "rankscope_detector_score",
            "How far a rank stands out, 1 being just enough to report.",
            labels=("job_id", "detector", "rank"),
        )
        highest: dict[tuple[str, str, str], float] = {}
        for job, detector, rank, score in self._services.stages.read(lambda line: line.scores()):
            if job in reporting:
                labels = (str(job), detector, str(rank))
                highest[labels] = max(score, highest.get(labels, 0.0))
        worst = sorted(highest.items(), key=lambda row: (-row[1], row[0]))
        for labels, score in worst[:MOST_SERIES]:
            family.add_metric(labels, score)
        return family

    def _outbox(self) -> Iterator[Metric]:
        queue = self._services.store.queue()
        messages = GaugeMetricFamily(
            "rankscope_webhook_messages", "Messages of the outbox, by state.", labels=("state",)
        )
        for state, count in queue.messages.items():
            messages.add_metric((state,), count)
        yield messages
        age = 0.0
        if queue.oldest_pending_at is not None:
            age = max(0.0, self._services.clock.now() - queue.oldest_pending_at)
        yield GaugeMetricFamily(
            "rankscope_webhook_oldest_pending_seconds",
            "How long the oldest message that is not delivered waits.",
            value=age,
        )


def _incidents(totals: Mapping[str | None, JobTotals]) -> Metric:
    family = GaugeMetricFamily(
        "rankscope_incidents",
        "Incidents, without jobs that had none for a week.",
        labels=("job_id", "fault", "severity", "status"),
    )
    counts = sorted(
        ((job or "", *labels), count)
        for job, row in totals.items()
        for labels, count in row.incidents.items()
    )
    for labels, count in counts[:MOST_SERIES]:
        family.add_metric(labels, count)
    return family


def _lost(totals: Mapping[str | None, JobTotals]) -> Metric:
    family = CounterMetricFamily(
        "rankscope_gpu_seconds_lost",
        "GPU seconds that incidents took.",
        labels=("job_id", "fault"),
    )
    sums = sorted(
        ((job or "", fault), seconds)
        for job, row in totals.items()
        for fault, seconds in row.lost.items()
    )
    for labels, seconds in sums[:MOST_SERIES]:
        family.add_metric(labels, seconds)
    return family
