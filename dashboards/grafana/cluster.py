"""Cluster overview: is training going on, what is lost to which cause, which nodes are bad."""

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, jobs
from .panels import PLAIN, SEVERITY_HUES, Column, above, bars, below, lines, listing, number
from .queries import JOBS, JOBS_OR_NONE, Query, gained, highest, now, rows

_LOST = f"rankscope_gpu_seconds_lost_total{{{JOBS_OR_NONE}}}"
_GOODPUT = f"rankscope_job_goodput_ratio{{{JOBS}}}"
_CLUSTER = 'cluster=~"$cluster"'


def build(given: Given) -> models.Dashboard:
    """Return the dashboard."""
    return assemble(
        links.CLUSTER,
        "Rankscope / Cluster overview",
        "Jobs, goodput, GPU-hours lost by cause, and the nodes that cost most.",
        given=given,
        variables=[jobs(many=True)],
        incidents=JOBS_OR_NONE,
        since="now-6h",
        sections=[
            Section("Now", _numbers()),
            Section("Incidents and jobs", _jobs()),
            Section("What is lost, and to what", _lost()),
            Section("Nodes", _nodes()),
        ],
    )


def _open(severity: str) -> str:
    """Return how many incidents of a severity are not resolved."""
    return f'sum(rankscope_incident_active{{{JOBS_OR_NONE}, severity="{severity}"}}) or vector(0)'


def _numbers() -> list[Put]:
    return [
        Put(
            number(
                "Critical incidents",
                "Incidents that are not resolved and stop or corrupt training.",
                "none",
                now(_open("critical")),
                steps=above(0.5, 0.5)[::2],
            ),
            4,
            4,
        ),
        Put(
            number(
                "Warnings",
                "Incidents that are not resolved and cost time or will fail.",
                "none",
                now(_open("warning")),
                steps=above(0.5),
            ),
            4,
            4,
        ),
        Put(
            number(
                "Jobs reporting",
                "Jobs whose ranks reported in the last minute.",
                "none",
                now(f"count(rankscope_job_last_received_age_seconds{{{JOBS}}} < 60) or vector(0)"),
                steps=PLAIN,
            ),
            4,
            4,
        ),
        Put(
            number(
                "Goodput",
                "Share of GPU time that incidents left, over all jobs, weighted by their ranks.",
                "percentunit",
                Query(
                    f"sum({_GOODPUT} * on (job_id) rankscope_job_ranks)"
                    f" / sum(rankscope_job_ranks and on (job_id) {_GOODPUT})"
                ),
                steps=below(0.97, 0.9),
                decimals=1,
                trend=True,
            ),
            4,
            4,
        ),
        Put(
            number(
                "GPU-hours lost",
                "GPU time that incidents took in the time range.",
                "suffix: GPU h",
                now(f"sum({gained(_LOST)}) / 3600 or vector(0)"),
                steps=above(1, 24),
                decimals=2,
            ),
            4,
            4,
        ),
        Put(
            number(
                "GPUs that do not answer",
                "Accelerators on the bus that failed or no longer answer.",
                "none",
                now(f'sum(hw_gpu_count{{{_CLUSTER}, state="failed"}})'),
                steps=above(0.5, 0.5)[::2],
            ),
            4,
            4,
        ),
    ]


def _jobs() -> list[Put]:
    incident = Column("incident", "Incident", width=190, link=links.TO_INCIDENT)
    return [
        Put(
            listing(
                "Incidents that are not resolved",
                "One row an incident: its first cause, where it lies, and what it took so far.",
                rows(f"rankscope_incident_active{{{JOBS_OR_NONE}}}"),
                rows(f"rankscope_incident_gpu_seconds_lost{{{JOBS_OR_NONE}}} / 3600"),
                rows(f"time() - rankscope_incident_opened_timestamp_seconds{{{JOBS_OR_NONE}}}"),
                columns=[
                    Column("severity", "Severity", width=80),
                    Column("fault", "Fault", width=180),
                    Column("host_name", "Node", width=120, link=links.TO_NODE),
                    Column("entity", "Entity"),
                    Column("job_id", "Job", link=links.TO_JOB),
                    Column("Value #C", "Open for", "s", 90),
                    Column("Value #B", "GPU h lost", "short", 95, steps=above(1, 24)),
                    incident,
                ],
                steps=PLAIN,
                sort="GPU h lost",
                none="no incident",
            ),
            24,
            6,
        ),
        Put(
            listing(
                "Jobs",
                "Jobs that reported in the last 5 minutes. Silent: since their last report.",
                rows(f"rankscope_job_info{{{JOBS}, {_CLUSTER}}}"),
                rows(f"rankscope_job_ranks{{{JOBS}}}"),
                rows(f"rankscope_job_step{{{JOBS}}}"),
                rows(f"rankscope_job_step_duration_seconds{{{JOBS}}}"),
                rows(f"rankscope_job_goodput_ratio{{{JOBS}}}"),
                rows(f"rankscope_job_last_received_age_seconds{{{JOBS}}}"),
                columns=[
                    Column("job_id", "Job", link=links.TO_JOB),
                    Column("cluster", "Cluster", width=90),
                    Column("attempt", "Attempt", width=75),
                    Column("Value #B", "Ranks", "none", 70),
                    Column("Value #C", "Step", "none", 85),
                    Column("Value #D", "Step time", "s", 90),
                    Column("Value #E", "Goodput", "percentunit", 85, steps=below(0.97, 0.9)),
                    Column("Value #F", "Silent", "s", 80, steps=above(30, 120)),
                ],
                steps=PLAIN,
                sort="Ranks",
                none="no job reports",
            ),
            14,
            8,
        ),
        Put(
            lines(
                "Goodput by job",
                "Share of each job's GPU time that incidents left; the 20 lowest.",
                "percentunit",
                Query(
                    f"bottomk(20, rankscope_job_goodput_ratio{{{JOBS}}})",
                    "{{job_id}}",
                ),
                steps=below(0.97, 0.9),
                least=None,
                beside=False,
            ),
            10,
            8,
        ),
    ]


def _lost() -> list[Put]:
    return [
        Put(
            bars(
                "GPU-hours lost by cause",
                "What incidents took in the time range, by the fault that is their first cause.",
                "suffix: GPU h",
                now(f"topk(15, sum by (fault) ({gained(_LOST)})) / 3600", "{{fault}}"),
                steps=above(1, 24),
            ),
            8,
            8,
        ),
        Put(
            lines(
                "GPUs lost, by cause",
                "GPU seconds that incidents take in a second: so many GPUs might as well be off.",
                "suffix: GPUs",
                Query(
                    f"sum by (fault) (rate({_LOST}[$__rate_interval])) > 0",
                    "{{fault}}",
                ),
                steps=above(1, 8),
                stacked=True,
                none="nothing lost in this time range",
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Open incidents by severity",
                "Incidents that are not resolved.",
                "none",
                Query(
                    f"sum by (severity) (rankscope_incident_active{{{JOBS_OR_NONE}}})",
                    "{{severity}}",
                ),
                steps=above(1, 5),
                stacked=True,
                hues=SEVERITY_HUES,
                none="no incident in this time range",
            ),
            8,
            8,
        ),
    ]


def _nodes() -> list[Put]:
    lost = f"sum by (host_name) ({gained('rankscope_host_gpu_seconds_lost_total')}) / 3600"
    throttled = (
        f"max by (host_name, gpu) (hw_gpu_throttle{{{_CLUSTER},"
        ' reason=~"thermal_hw|thermal_sw|slowdown_hw|power_brake"})'
    )
    uncorrected = f'hw_errors_total{{{_CLUSTER}, error_type="uncorrected"}}'
    return [
        Put(
            listing(
                "Worst nodes",
                "Nodes with GPU time lost to them, GPUs failed or held down, uncorrectable errors "
                "or network ports down: 20 of each.",
                rows(f"topk(20, {lost} > 0)"),
                rows(f"topk(20, sum by (host_name) ({throttled}) > 0)"),
                rows(
                    f'topk(20, sum by (host_name) (hw_gpu_count{{{_CLUSTER}, state="failed"}}) > 0)'
                ),
                rows(f"topk(20, sum by (host_name) (increase({uncorrected}[$__range])) > 0)"),
                rows(f"topk(20, count by (host_name) (hw_network_up{{{_CLUSTER}}} == 0))"),
                columns=[
                    Column("host_name", "Node", link=links.TO_NODE),
                    Column("Value #A", "GPU h lost", "short", 110, steps=above(1, 24)),
                    Column("Value #B", "GPUs throttled", "none", 120, steps=above(1)),
                    Column("Value #C", "GPUs failed", "none", 110, steps=above(1, 1)[::2]),
                    Column("Value #D", "Memory errors", "short", 120, steps=above(1, 1)[::2]),
                    Column("Value #E", "Ports down", "none", 100, steps=above(1, 1)[::2]),
                ],
                steps=PLAIN,
                sort="GPU h lost",
                none="no node stands out",
            ),
            14,
            8,
        ),
        Put(
            lines(
                "Hottest GPUs",
                "Temperature of the 20 GPUs that grew hottest in the time range.",
                "celsius",
                Query(
                    highest(
                        f'hw_temperature_celsius{{{_CLUSTER}, hw_sensor="gpu"}}', "host_name, gpu"
                    ),
                    "{{host_name}} GPU {{gpu}}",
                ),
                steps=above(80, 88),
                least=None,
                marked=True,
                beside=True,
            ),
            10,
            8,
        ),
        Put(
            lines(
                "GPU utilization",
                "Share of time in which a kernel ran: mean, and the lowest tenth of all GPUs.",
                "percentunit",
                Query(f"avg(hw_gpu_utilization{{{_CLUSTER}}})", "mean"),
                Query(f"quantile(0.1, hw_gpu_utilization{{{_CLUSTER}}})", "lowest tenth"),
                steps=below(0.7, 0.3),
            ),
            12,
            7,
        ),
        Put(
            lines(
                "Power",
                "Power that all GPUs draw.",
                "watt",
                Query(f"sum by (hw_vendor) (hw_power_watts{{{_CLUSTER}}})", "{{hw_vendor}}"),
                steps=PLAIN,
                stacked=True,
            ),
            12,
            7,
        ),
    ]
