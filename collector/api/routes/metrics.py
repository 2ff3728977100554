"""/metrics: incidents, costs and our own health for Prometheus; no token."""

from collections import Counter
from collections.abc import Iterator

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from ...services import Services
from ..goodput import Goodput

MOST_SERIES = 1000
"""Of each name: enough for a thousand jobs in trouble, and no more when a store grows old."""
_RECENT_SECONDS = 7 * 86400.0


def router(services: Services) -> APIRouter:
    """Return the route."""
    routes = APIRouter(tags=["health"])
    registry = CollectorRegistry()
    registry.register(Incidents(services))

    @routes.get("/metrics", summary="Get metrics for Prometheus", response_class=Response)
    def metrics() -> Response:
        body = generate_latest(registry) + generate_latest(services.health.registry)
        return Response(body, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes


class Incidents(Collector):
    """What the store and the pipeline know, read anew at every scrape.

    Jobs without anything new for a week are left out, whole: a counter must not go down.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def describe(self) -> list[Metric]:
        """Return nothing, so that registering reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield every family."""
        services = self._services
        jobs = services.stages.read(lambda line: line.windows.jobs())
        costs = services.store.costs()
        since = services.clock.now() - _RECENT_SECONDS
        recent = {row.job for row in costs if row.updated_at >= since or row.status != "resolved"}
        valid = [row for row in costs if row.job in recent]

        incidents = GaugeMetricFamily(
            "rankscope_incidents",
            "Incidents, without jobs that had none for a week.",
            labels=("job_id", "fault", "severity", "status"),
        )
        counts = Counter((row.job or "", row.fault, row.severity, row.status) for row in valid)
        for labels, count in sorted(counts.items())[:MOST_SERIES]:
            incidents.add_metric(labels, count)
        yield incidents

        lost = CounterMetricFamily(
            "rankscope_gpu_seconds_lost",
            "GPU seconds that incidents took.",
            labels=("job_id", "fault"),
        )
        sums: Counter[tuple[str, str]] = Counter()
        for row in valid:
            sums[row.job or "", row.fault] += row.gpu_seconds_lost  # type: ignore[assignment]
        for pair, seconds in sorted(sums.items())[:MOST_SERIES]:
            lost.add_metric(pair, seconds)
        yield lost

        ratio = GaugeMetricFamily(
            "rankscope_job_goodput_ratio",
            "Share of a job's GPU time that incidents left.",
            labels=("job_id",),
        )
        goodput = Goodput(costs)
        for job in jobs[:MOST_SERIES]:
            share = goodput.of(job)
            if share is not None:
                ratio.add_metric((job.job,), share)
        yield ratio

        yield from self._scores()
        yield from self._outbox()

    def _scores(self) -> Iterator[Metric]:
        """Yield the scores of the ranks that stand out most."""
        family = GaugeMetricFamily(
            "rankscope_detector_score",
            "How far a rank stands out, 1 being just enough to report.",
            labels=("job_id", "detector", "rank"),
        )
        highest: dict[tuple[str, str, str], float] = {}
        for job, detector, rank, score in self._services.stages.read(lambda line: line.scores()):
            labels = (str(job), detector, str(rank))
            highest[labels] = max(score, highest.get(labels, 0.0))
        worst = sorted(highest.items(), key=lambda row: (-row[1], row[0]))
        for labels, score in worst[:MOST_SERIES]:
            family.add_metric(labels, score)
        yield family

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
