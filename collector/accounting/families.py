"""What /metrics shows of jobs, incidents and nodes: names, labels, meanings, and how many of each.

The reference page of Prometheus series and the checks of the dashboards read it too.
"""

from dataclasses import dataclass
from typing import Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

MOST_SERIES = 1000
"""Of each name: enough for a thousand jobs in trouble, and no more when a store grows old."""
MOST_INCIDENTS = 200
"""That are shown one by one: those not resolved, the newest first."""
MOST_WAITS = 20
"""Of each job: groups that wait longest."""

Kind = Literal["gauge", "counter"]


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """One name. A counter's ends in `_total`. `most`: its series at most."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    most: int = MOST_SERIES

    def gauge(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.help, labels=self.labels)

    def counter(self) -> CounterMetricFamily:
        """Return the family, empty; the client adds `_total`."""
        return CounterMetricFamily(self.name.removesuffix("_total"), self.help, labels=self.labels)


INCIDENTS = MetricFamily(
    "rankscope_incidents",
    "gauge",
    "Incidents, without jobs that had none for a week.",
    ("job_id", "fault", "severity", "status"),
)
LOST = MetricFamily(
    "rankscope_gpu_seconds_lost_total",
    "counter",
    "GPU seconds that incidents took.",
    ("job_id", "fault"),
)
CAUSE_LOST = MetricFamily(
    "rankscope_cause_gpu_seconds_lost_total",
    "counter",
    "GPU seconds that would not have been lost without the cause, by steps as they would be: of "
    "incidents whose steps could be compared.",
    ("job_id", "fault"),
)
JOB_GAIN = MetricFamily(
    "rankscope_job_gpus_gained",
    "gauge",
    "GPUs whose time a job would give back without its slowest one, two and five hosts.",
    ("job_id", "removed"),
)
HOST_GAIN = MetricFamily(
    "rankscope_host_gpus_gained",
    "gauge",
    "GPUs whose time running jobs would give back with this host replaced; those with most.",
    ("host_name",),
)
HOST_LOST = MetricFamily(
    "rankscope_host_gpu_seconds_lost_total",
    "counter",
    "GPU seconds that incidents took whose first cause is on this host; the hosts that lost most.",
    ("host_name", "fault"),
)
INCIDENT = MetricFamily(
    "rankscope_incident_active",
    "gauge",
    "1 while an incident is not resolved: what it is and where its first cause lies.",
    ("incident", "job_id", "fault", "severity", "status", "entity_type", "entity", "host_name"),
    MOST_INCIDENTS,
)
INCIDENT_OPENED = MetricFamily(
    "rankscope_incident_opened_timestamp_seconds",
    "gauge",
    "Onset of an incident that is not resolved, in seconds since the epoch.",
    ("incident", "job_id"),
    MOST_INCIDENTS,
)
INCIDENT_LOST = MetricFamily(
    "rankscope_incident_gpu_seconds_lost",
    "gauge",
    "GPU seconds that an incident that is not resolved has taken so far.",
    ("incident", "job_id"),
    MOST_INCIDENTS,
)
GPUS_LOST = MetricFamily(
    "rankscope_gpus_lost",
    "gauge",
    "GPUs whose time incidents take now: of one job all together at most its ranks.",
    ("job_id", "fault"),
)
INCIDENT_GPUS_LOST = MetricFamily(
    "rankscope_incident_gpus_lost",
    "gauge",
    "GPUs whose time an incident takes now; while a job stands still, all of them.",
    ("incident", "job_id"),
    MOST_INCIDENTS,
)
GOODPUT = MetricFamily(
    "rankscope_job_goodput_ratio",
    "gauge",
    "Share of the GPU time that a job held, in all its attempts, that incidents left.",
    ("job_id",),
)
JOB = MetricFamily(
    "rankscope_job_info",
    "gauge",
    "A job that reports, or did in the last 5 minutes; always 1.",
    ("job_id", "cluster", "attempt", "user"),
)
JOB_RANKS = MetricFamily(
    "rankscope_job_ranks", "gauge", "World size of a job's newest attempt.", ("job_id",)
)
JOB_HOSTS = MetricFamily(
    "rankscope_job_hosts", "gauge", "Hosts that a job's newest attempt runs on.", ("job_id",)
)
JOB_STEP = MetricFamily(
    "rankscope_job_step", "gauge", "Index of the newest step of a job.", ("job_id",)
)
JOB_STEP_SECONDS = MetricFamily(
    "rankscope_job_step_duration_seconds",
    "gauge",
    "Median duration of the last 20 steps of a job.",
    ("job_id",),
)
JOB_SILENT = MetricFamily(
    "rankscope_job_last_received_age_seconds",
    "gauge",
    "Time since a job last reported anything.",
    ("job_id",),
)
WAITED_FOR = MetricFamily(
    "rankscope_group_wait_seconds",
    "gauge",
    "Time that the members of a communication group wait for its last one, summed over them, "
    "a step, mean of the last 20; rank and host_name are the one waited for. The longest 20 a job.",
    ("job_id", "kind", "group", "rank", "host_name"),
)
SCORE = MetricFamily(
    "rankscope_detector_score",
    "gauge",
    "How far a rank stands out, 1 being just enough to report.",
    ("job_id", "detector", "rank"),
)
MESSAGES = MetricFamily(
    "rankscope_webhook_messages", "gauge", "Messages of the outbox, by state.", ("state",)
)
OLDEST_PENDING = MetricFamily(
    "rankscope_webhook_oldest_pending_seconds",
    "gauge",
    "How long the oldest message that is not delivered waits.",
)
CHECK_VALUE = MetricFamily(
    "rankscope_check_value",
    "gauge",
    "What a host last measured of a device in an active check, in the check's unit; of a week.",
    ("host_name", "device", "check"),
)
CHECK_VERDICT = MetricFamily(
    "rankscope_check_verdict",
    "gauge",
    "1 for the verdict of the newest result of an active check; of a week.",
    ("host_name", "device", "check", "verdict"),
)

FAMILIES = (
    INCIDENTS,
    LOST,
    CAUSE_LOST,
    HOST_LOST,
    INCIDENT,
    INCIDENT_OPENED,
    INCIDENT_LOST,
    GPUS_LOST,
    INCIDENT_GPUS_LOST,
    GOODPUT,
    JOB,
    JOB_RANKS,
    JOB_HOSTS,
    JOB_STEP,
    JOB_STEP_SECONDS,
    JOB_SILENT,
    WAITED_FOR,
    JOB_GAIN,
    HOST_GAIN,
    SCORE,
    MESSAGES,
    OLDEST_PENDING,
    CHECK_VALUE,
    CHECK_VERDICT,
)
