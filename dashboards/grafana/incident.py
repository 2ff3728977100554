"""Incident: what broke, where, since when, and the evidence beside its peers."""

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, jobs, query
from .panels import PLAIN, Column, above, lines, listing, number
from .queries import Query, by_gpu, few, now, rated, rows

_THIS = 'incident="$incident"'
_AT = 'cluster=~"$cluster", host_name=~"$host"'
_OF_JOB = 'cluster=~"$cluster", job_id=~"$of_job"'
_NOWHERE = "the first cause is on no node, or there is nothing to see"
_GPU = "{{host_name}} GPU {{gpu}}"


def build(given: Given) -> models.Dashboard:
    """Return the dashboard."""
    return assemble(
        links.INCIDENT,
        "Rankscope / Incident",
        "One incident: its cause, what it costs, and the evidence of its node and job.",
        given=given,
        variables=[
            jobs(many=True, everything=".*"),
            query(
                "incident",
                "Incident",
                'label_values(rankscope_incident_active{job_id=~"$job"}, incident)',
                description="incidents that were open in the time range",
            ),
            query(
                "host",
                "Node of the first cause",
                'label_values(rankscope_incident_active{incident="$incident"}, host_name)',
                description="where the first cause lies; several where it changed",
                many=True,
            ),
            query(
                "of_job",
                "Job of the incident",
                'label_values(rankscope_incident_active{incident="$incident"}, job_id)',
                description="the job whose ranks are shown",
                many=True,
            ),
        ],
        incidents=_THIS,
        sections=[
            Section("What it is", _what()),
            Section("The job", _job()),
            Section("The node of the first cause", _node()),
        ],
    )


def _what() -> list[Put]:
    return [
        Put(
            listing(
                "First cause",
                "Fault and place as the collector sees them now; a row more where they changed in "
                "the time range. Evidence, other causes and what to do: in the console.",
                rows(f"max_over_time(rankscope_incident_active{{{_THIS}}}[$__range])"),
                columns=[
                    Column("severity", "Severity", width=90),
                    Column("status", "Status", width=120),
                    Column("fault", "Fault", width=220),
                    Column("entity_type", "Type", width=80),
                    Column("entity", "Entity"),
                    Column("host_name", "Node", width=150, link=links.TO_NODE),
                    Column("job_id", "Job", width=180, link=links.TO_JOB),
                    Column(
                        "incident",
                        "Incident",
                        width=210,
                        link=links.console_incident("${__data.fields.Incident}"),
                    ),
                ],
                steps=PLAIN,
                none="choose an incident above",
            ),
            24,
            4,
        ),
        Put(
            number(
                "Began",
                "Onset, as it is judged.",
                "dateTimeAsIso",
                now(
                    "max(max_over_time(rankscope_incident_opened_timestamp_seconds"
                    f"{{{_THIS}}}[$__range])) * 1000"
                ),
                steps=PLAIN,
            ),
            6,
            4,
        ),
        Put(
            number(
                "Open for",
                "Time from the onset to now; no data once it is resolved.",
                "s",
                now(f"time() - max(rankscope_incident_opened_timestamp_seconds{{{_THIS}}})"),
                steps=above(600, 3600),
                none="resolved",
            ),
            6,
            4,
        ),
        Put(
            number(
                "GPU-hours lost",
                "GPU time that it has taken.",
                "suffix: GPU h",
                now(
                    f"max(max_over_time(rankscope_incident_gpu_seconds_lost{{{_THIS}}}[$__range]))"
                    " / 3600"
                ),
                steps=above(1, 24),
                decimals=2,
            ),
            6,
            4,
        ),
        Put(
            number(
                "GPUs lost now",
                "GPU seconds that it takes in each second.",
                "suffix: GPUs",
                Query(
                    f"sum(deriv(rankscope_incident_gpu_seconds_lost{{{_THIS}}}[$__rate_interval]))"
                ),
                steps=above(1, 8),
                decimals=1,
                none="resolved",
                trend=True,
            ),
            6,
            4,
        ),
    ]


def _job() -> list[Put]:
    by = "job_id, host_name, rank"
    both = "training_step_duration_seconds", "training_comm_duration_seconds"
    every = " - ".join(f"max by ({by}) ({one}{{{_OF_JOB}}})" for one in both)
    usual = " - ".join(
        f"max by ({by}) (avg_over_time({one}{{{_OF_JOB}}}[$__range] @ end()))" for one in both
    )
    slowest = f"topk(5, {usual})"
    own = " - ".join(f"max by ({by}) ({one}{{{_OF_JOB}}} and on ({by}) {slowest})" for one in both)
    waits = 'rankscope_group_wait_seconds{job_id=~"$of_job"}'
    return [
        Put(
            lines(
                "Own time: the slowest ranks and their peers",
                "Step time less the wait in collectives. The 5 slowest ranks of the time range, "
                "and the median of all.",
                "s",
                Query(own, "{{job_id}} {{host_name}} rank {{rank}}"),
                Query(f"quantile by (job_id) (0.5, {every})", "{{job_id}} median of ranks"),
                steps=PLAIN,
                least=None,
            ),
            12,
            9,
        ),
        Put(
            lines(
                "Waited for",
                "How long groups wait for their last rank, a step. Top 5.",
                "s",
                Query(
                    few(
                        waits,
                        by,
                        f"avg_over_time({waits}[$__range] @ end())",
                        5,
                        operation="sum",
                    ),
                    "{{job_id}} {{host_name}} rank {{rank}}",
                ),
                steps=above(0.5, 2),
            ),
            6,
            9,
        ),
        Put(
            lines(
                "Loss",
                "Median over ranks, and the highest.",
                "short",
                Query(
                    f"quantile by (job_id) (0.5, training_loss{{{_OF_JOB}}})", "{{job_id}} median"
                ),
                Query(f"max by (job_id) (training_loss{{{_OF_JOB}}})", "{{job_id}} highest"),
                steps=PLAIN,
                least=None,
            ),
            6,
            9,
        ),
    ]


def _node() -> list[Put]:
    ports = "host_name, device, port, error_type"
    throttle = 'reason!~"idle|clocks_setting"'
    return [
        Put(
            lines(
                "SM clock",
                "Devices of the node, and the median of all nodes.",
                "hertz",
                Query(by_gpu(f'hw_frequency_hertz{{{_AT}, domain="sm"}}'), _GPU),
                Query(
                    'quantile(0.5, hw_frequency_hertz{cluster=~"$cluster", domain="sm"})',
                    "median of all nodes",
                ),
                steps=PLAIN,
                none=_NOWHERE,
                least=None,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Temperature",
                "Devices of the node, and the median of all nodes.",
                "celsius",
                Query(by_gpu(f'hw_temperature_celsius{{{_AT}, hw_sensor="gpu"}}'), _GPU),
                Query(
                    'quantile(0.5, hw_temperature_celsius{cluster=~"$cluster", hw_sensor="gpu"})',
                    "median of all nodes",
                ),
                steps=above(80, 88),
                none=_NOWHERE,
                least=None,
                marked=True,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Power",
                "Devices of the node, and the median of all nodes.",
                "watt",
                Query(by_gpu(f"hw_power_watts{{{_AT}}}"), _GPU),
                Query('quantile(0.5, hw_power_watts{cluster=~"$cluster"})', "median of all nodes"),
                steps=PLAIN,
                none=_NOWHERE,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "What holds the clocks down",
                "Devices and reasons that are active.",
                "none",
                Query(
                    by_gpu(f"hw_gpu_throttle{{{_AT}, {throttle}}}", "reason") + " > 0",
                    f"{_GPU} {{{{reason}}}}",
                ),
                steps=above(1),
                none=_NOWHERE,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "CPU, memory and pressure",
                "Shares of the node's CPU and memory in use, and of the time tasks waited.",
                "percentunit",
                Query(f"system_cpu_utilization{{{_AT}}}", "{{host_name}} CPU"),
                Query(
                    f"max by (host_name) (system_memory_usage_bytes{{{_AT}}})"
                    f" / max by (host_name) (system_memory_limit_bytes{{{_AT}}})",
                    "{{host_name}} memory",
                ),
                Query(
                    f'system_pressure{{{_AT}, kind="some"}}',
                    "{{host_name}} waits for {{resource}}",
                ),
                steps=above(0.9, 0.98),
                none=_NOWHERE,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Port errors",
                "Errors a minute of the node's ports, by kind; the 20 highest.",
                "none",
                Query(
                    rated(f"hw_network_errors_total{{{_AT}}}", ports, minute=True),
                    "{{host_name}} {{device}}:{{port}} {{error_type}}",
                ),
                steps=above(1, 60),
                none=_NOWHERE,
            ),
            8,
            7,
        ),
    ]
