"""What ranks wait for, and how long collectives take."""

from ..group_waits import group_waits
from ..panels import PLAIN, AnyPanel, above, lines, number
from ..queries import HOSTS, PanelQuery, chosen, now
from ..tables import TableColumn
from .selection import INCIDENTS

_JOB = 'cluster=~"$cluster", job_id=~"$job"'

_GROUPS = "Needs export.groups at the agents: one series a group is off by default."


def numbers_row() -> list[AnyPanel]:
    """Return the panels of the row "Now"."""
    errors = f"increase(hw_network_errors_total{{{HOSTS}}}[$__range])"
    return [
        number(
            "Waiting in collectives",
            "Share of the step that ranks wait in collectives, mean over ranks.",
            "percentunit",
            PanelQuery(
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
            now(f"max(rankscope_group_wait_seconds{{{INCIDENTS}}}) or vector(0)"),
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
            PanelQuery(
                f'sum(rate(hw_network_io_bytes_total{{{HOSTS}, direction="transmit"}}'
                "[$__rate_interval]))"
            ),
            steps=PLAIN,
            decimals=1,
            trend=True,
        ),
    ]


def waits_row() -> list[AnyPanel]:
    """Return the panels of the row "Waits in collectives"."""
    ranks = f'{_JOB}, host_name=~"$host", rank=~"$rank"'
    by = "job_id, host_name, rank"
    waits = f"training_comm_duration_seconds{{{ranks}}}"
    least = f"topk(20, -max by ({by}) (avg_over_time({waits}[$__range] @ end())))"
    late = (
        f"max by (job_id) ({waits}) - on (job_id) group_right ()"
        f" max by ({by}) ({waits} and on ({by}) {least})"
    )
    return [
        group_waits(
            "Groups, the member that comes last to their collectives, and how long the others "
            "wait for it a step, summed. The worst 20.",
            INCIDENTS,
            TableColumn("job_id", "Job", width=140),
            size=(10, 9),
        ),
        lines(
            "Latest ranks",
            "How much less a rank waits than the one that waits longest: in a synchronous job "
            "that is how late it comes. The 20 that are latest on average.",
            "s",
            PanelQuery(
                late,
                "{{job_id}} {{host_name}} rank {{rank}}",
            ),
            steps=above(0.2, 1),
            beside="max",
            size=(14, 9),
        ),
    ]


def collectives_row() -> list[AnyPanel]:
    """Return the panels of the row "Collectives"."""
    by_group = "job_id, group"
    flight = (
        f"max by ({by_group}) (collective_enqueued{{{{{_JOB}}}}}{{at}})"
        f" - min by ({by_group}) (collective_completed{{{{{_JOB}}}}}{{at}})"
    )
    return [
        lines(
            "Bus bandwidth",
            f"Median over ranks, and the lowest, by kind of collective. {_GROUPS}",
            "Bps",
            PanelQuery(
                "quantile by (job_id, op) (0.5,"
                f" collective_bus_bandwidth_bytes_per_second{{{_JOB}}})",
                "{{job_id}} {{op}} median",
            ),
            PanelQuery(
                f"min by (job_id, op) (collective_bus_bandwidth_bytes_per_second{{{_JOB}}})",
                "{{job_id}} {{op}} lowest",
            ),
            steps=PLAIN,
            size=(8, 8),
        ),
        lines(
            "Duration",
            f"Median over ranks, and the longest, by kind of collective. {_GROUPS}",
            "s",
            PanelQuery(
                f"quantile by (job_id, op) (0.5, collective_duration_seconds{{{_JOB}}})",
                "{{job_id}} {{op}} median",
            ),
            PanelQuery(
                f"max by (job_id, op) (collective_duration_max_seconds{{{_JOB}}})",
                "{{job_id}} {{op}} longest",
            ),
            steps=PLAIN,
            size=(8, 8),
        ),
        lines(
            "Operations in flight",
            "Enqueued by the first member of a group and not completed by the last: grows "
            f"while a group hangs. The 20 that are largest now. {_GROUPS}",
            "none",
            PanelQuery(
                chosen(flight.format(at=""), by_group, flight.format(at=" @ end()")),
                "{{job_id}} {{group}}",
            ),
            steps=above(100, 1000),
            size=(8, 8),
        ),
    ]
