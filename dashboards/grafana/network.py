"""Collectives and network: what ranks wait for, how fast collectives are, which port is sick."""

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, jobs, query
from .panels import PLAIN, Column, above, bars, lines, listing, number
from .queries import HOSTS, Query, chosen, now, rated, rows

_JOB = 'cluster=~"$cluster", job_id=~"$job"'
_INCIDENTS = 'job_id=~"$job"'
_FAULTS = "network.*|gpu.nvlink|software.collective_mismatch|software.deadlock"
_PORT = "{{host_name}} {{device}}:{{port}}"
_OF_PORT = "host_name, device, port"
_GROUPS = "Needs export.groups at the agents: one series a group is off by default."


def build(given: Given) -> models.Dashboard:
    """Return the dashboard."""
    return assemble(
        links.NETWORK,
        "Rankscope / Collectives and network",
        "Waits in collectives, their bandwidth, and the ports and links beneath them.",
        given=given,
        variables=[
            jobs(many=True),
            query(
                "host",
                "Node",
                'label_values(system_memory_limit_bytes{cluster=~"$cluster"}, host_name)',
                description="nodes whose ports and ranks are shown",
                many=True,
                everything=".*",
            ),
            query(
                "rank",
                "Rank",
                'label_values(training_rank_info{cluster=~"$cluster", job_id=~"$job",'
                ' host_name=~"$host"}, rank)',
                description="global ranks whose waits are shown",
                many=True,
                everything=".*",
            ),
        ],
        incidents=f'{_INCIDENTS}, fault=~"{_FAULTS}"',
        sections=[
            Section("Now", _numbers()),
            Section("Waits in collectives", _waits()),
            Section("Collectives", _collectives()),
            Section("Ports of the fabric", _ports()),
            Section("Links between devices", _links()),
        ],
    )


def _numbers() -> list[Put]:
    errors = f"increase(hw_network_errors_total{{{HOSTS}}}[$__range])"
    panels = [
        number(
            "Waiting in collectives",
            "Share of the step that ranks wait in collectives, mean over ranks.",
            "percentunit",
            Query(
                f"avg(training_comm_duration_seconds{{{_JOB}}})"
                f" / avg(training_step_duration_seconds{{{_JOB}}})"
            ),
            steps=above(0.3, 0.5),
            decimals=0,
            trend=True,
        ),
        number(
            "Longest wait for one rank",
            "Time a step that the members of a group wait for its last, summed; the worst group.",
            "s",
            now(f"max(rankscope_group_wait_seconds{{{_INCIDENTS}}}) or vector(0)"),
            steps=above(0.5, 2),
            decimals=2,
        ),
        number(
            "Ports down",
            "Ports of the fabric that are down.",
            "none",
            now(f"count(hw_network_up{{{HOSTS}}} == 0) or vector(0)"),
            steps=above(1, 1)[::2],
        ),
        number(
            "Errors of ports",
            "Errors of all ports in the time range.",
            "short",
            now(f"sum({errors})"),
            steps=above(1, 1000),
            decimals=0,
        ),
        number(
            "Device links down",
            "NVLinks and their like that are down.",
            "none",
            now(f"count(hw_gpu_nvlink_up{{{HOSTS}}} == 0) or vector(0)"),
            steps=above(1, 1)[::2],
        ),
        number(
            "Traffic",
            "Bytes that all ports send in a second.",
            "Bps",
            Query(
                f'sum(rate(hw_network_io_bytes_total{{{HOSTS}, direction="transmit"}}'
                "[$__rate_interval]))"
            ),
            steps=PLAIN,
            decimals=1,
            trend=True,
        ),
    ]
    return [Put(panel, 4, 4) for panel in panels]


def _waits() -> list[Put]:
    ranks = f'{_JOB}, host_name=~"$host", rank=~"$rank"'
    by = "job_id, host_name, rank"
    waits = f"training_comm_duration_seconds{{{ranks}}}"
    least = f"topk(20, -max by ({by}) (avg_over_time({waits}[$__range] @ end())))"
    late = (
        f"max by (job_id) ({waits}) - on (job_id) group_right ()"
        f" max by ({by}) ({waits} and on ({by}) {least})"
    )
    return [
        Put(
            listing(
                "Who waits for whom",
                "Groups, the member that comes last to their collectives, and how long the others "
                "wait for it a step, summed. The worst 20.",
                rows(f"topk(20, rankscope_group_wait_seconds{{{_INCIDENTS}}})"),
                columns=[
                    Column("job_id", "Job", width=140),
                    Column("group", "Group that waits"),
                    Column("kind", "Kind", width=60),
                    Column("rank", "For rank", width=75),
                    Column("host_name", "Node", width=130, link=links.TO_NODE),
                    Column("Value", "Waits a step", "s", 105, steps=above(0.5, 2)),
                ],
                steps=PLAIN,
                sort="Waits a step",
                none="nobody waits",
            ),
            10,
            9,
        ),
        Put(
            lines(
                "Latest ranks",
                "How much less a rank waits than the one that waits longest: in a synchronous job "
                "that is how late it comes. The 20 that are latest on average.",
                "s",
                Query(
                    late,
                    "{{job_id}} {{host_name}} rank {{rank}}",
                ),
                steps=above(0.2, 1),
                beside=True,
            ),
            14,
            9,
        ),
    ]


def _collectives() -> list[Put]:
    by_group = "job_id, group"
    flight = (
        f"max by ({by_group}) (collective_enqueued{{{{{_JOB}}}}}{{at}})"
        f" - min by ({by_group}) (collective_completed{{{{{_JOB}}}}}{{at}})"
    )
    return [
        Put(
            lines(
                "Bus bandwidth",
                f"Median over ranks, and the lowest, by kind of collective. {_GROUPS}",
                "Bps",
                Query(
                    "quantile by (job_id, op) (0.5,"
                    f" collective_bus_bandwidth_bytes_per_second{{{_JOB}}})",
                    "{{job_id}} {{op}} median",
                ),
                Query(
                    f"min by (job_id, op) (collective_bus_bandwidth_bytes_per_second{{{_JOB}}})",
                    "{{job_id}} {{op}} lowest",
                ),
                steps=PLAIN,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Duration",
                f"Median over ranks, and the longest, by kind of collective. {_GROUPS}",
                "s",
                Query(
                    f"quantile by (job_id, op) (0.5, collective_duration_seconds{{{_JOB}}})",
                    "{{job_id}} {{op}} median",
                ),
                Query(
                    f"max by (job_id, op) (collective_duration_max_seconds{{{_JOB}}})",
                    "{{job_id}} {{op}} longest",
                ),
                steps=PLAIN,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Operations in flight",
                "Enqueued by the first member of a group and not completed by the last: grows "
                f"while a group hangs. The 20 that are largest now. {_GROUPS}",
                "none",
                Query(
                    chosen(flight.format(at=""), by_group, flight.format(at=" @ end()")),
                    "{{job_id}} {{group}}",
                ),
                steps=above(100, 1000),
            ),
            8,
            8,
        ),
    ]


def _ports() -> list[Put]:
    io = f"hw_network_io_bytes_total{{{HOSTS}}}"
    limit = f"hw_network_bandwidth_limit_bytes_per_second{{{HOSTS}}}"
    busy = (
        f"sum by ({_OF_PORT}) (rate({io}[$__rate_interval])) / (2 * max by ({_OF_PORT}) ({limit}))"
    )
    busiest = f"sum by ({_OF_PORT}) (rate({io}[$__range] @ end()))"
    errors = (
        f"sum by ({_OF_PORT}, error_type)"
        f" (rate(hw_network_errors_total{{{HOSTS}}}[$__rate_interval])) * 60"
    )
    congestion = (
        f"sum by ({_OF_PORT}, kind)"
        f" (rate(hw_network_congestion_total{{{HOSTS}}}[$__rate_interval]))"
    )
    by_type = (
        f"sum by ({_OF_PORT}, error_type) (increase(hw_network_errors_total{{{HOSTS}}}[$__range]))"
    )
    return [
        Put(
            lines(
                "Busiest ports",
                "Sent and received, as a share of what the port can carry both ways; the 20 "
                "busiest.",
                "percentunit",
                Query(chosen(busy, _OF_PORT, busiest), _PORT),
                steps=above(0.8, 0.95),
                beside=True,
                every="2m",
            ),
            12,
            8,
        ),
        Put(
            bars(
                "Congestion",
                "Signs of congestion a second, now: marks, pauses, waits to send. The 20 highest.",
                "none",
                now(f"topk(20, {congestion} > 0)", f"{_PORT} {{{{kind}}}}"),
                steps=above(1000, 100000),
            ),
            12,
            8,
        ),
        Put(
            bars(
                "Port errors",
                "Errors a minute by kind, now; the 20 highest. A cable that goes bad shows here "
                "first; its course is on the node's page.",
                "none",
                now(f"topk(20, {errors} > 0)", f"{_PORT} {{{{error_type}}}}"),
                steps=above(1, 60),
            ),
            12,
            8,
        ),
        Put(
            listing(
                "Ports with errors or down",
                "Errors in the time range, the 20 ports and kinds with most.",
                rows(f"topk(20, {by_type} > 0)"),
                rows(f"topk(20, hw_network_up{{{HOSTS}}} == 0)"),
                columns=[
                    Column("host_name", "Node", width=140, link=links.TO_NODE),
                    Column("device", "Device", width=120),
                    Column("port", "Port", width=60),
                    Column("error_type", "Kind"),
                    Column("Value #A", "Errors", "short", 100, steps=above(1, 1000)),
                    Column("Value #B", "Up", "none", 60),
                ],
                steps=PLAIN,
                sort="Errors",
                none="no port has errors",
            ),
            12,
            8,
        ),
    ]


def _links() -> list[Put]:
    io = rated(f"hw_gpu_nvlink_io_bytes_total{{{HOSTS}}}", "host_name, gpu", positive=False)
    errors = (
        "sum by (host_name, gpu, error_type)"
        f" (rate(hw_gpu_nvlink_errors_total{{{HOSTS}}}[$__rate_interval])) * 60"
    )
    return [
        Put(
            lines(
                "Traffic between devices",
                "NVLink, HCCS, xGMI and their like, both directions; the 20 busiest devices.",
                "Bps",
                Query(io, "{{host_name}} GPU {{gpu}}"),
                steps=PLAIN,
                beside=True,
                every="2m",
            ),
            12,
            8,
        ),
        Put(
            bars(
                "Errors of device links",
                "Errors a minute by kind, now; the 20 highest. Their course is on the node's page.",
                "none",
                now(f"topk(20, {errors} > 0)", "{{host_name}} GPU {{gpu}} {{error_type}}"),
                steps=above(1, 60),
            ),
            12,
            8,
        ),
    ]
