"""The job and the node of the first cause, beside their peers."""

from ..panels import PLAIN, AnyPanel, above, lines
from ..queries import PanelQuery, by_gpu, few, rated

_AT = 'cluster=~"$cluster", host_name=~"$host"'

_OF_JOB = 'cluster=~"$cluster", job_id=~"$of_job"'

_NOWHERE = "the first cause is on no node, or there is nothing to see"

_GPU = "{{host_name}} GPU {{gpu}}"


def job_row() -> list[AnyPanel]:
    """Return the panels of the row "The job"."""
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
        lines(
            "Own time: the slowest ranks and their peers",
            "Step time less the wait in collectives. The 5 slowest ranks of the time range, "
            "and the median of all.",
            "s",
            PanelQuery(own, "{{job_id}} {{host_name}} rank {{rank}}"),
            PanelQuery(f"quantile by (job_id) (0.5, {every})", "{{job_id}} median of ranks"),
            steps=PLAIN,
            least=None,
            size=(12, 9),
        ),
        lines(
            "Waited for",
            "How long groups wait for their last rank, a step. Top 5.",
            "s",
            PanelQuery(
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
            size=(6, 9),
        ),
        lines(
            "Loss",
            "Median over ranks, and the highest.",
            "short",
            PanelQuery(
                f"quantile by (job_id) (0.5, training_loss{{{_OF_JOB}}})", "{{job_id}} median"
            ),
            PanelQuery(f"max by (job_id) (training_loss{{{_OF_JOB}}})", "{{job_id}} highest"),
            steps=PLAIN,
            least=None,
            size=(6, 9),
        ),
    ]


def node_row() -> list[AnyPanel]:
    """Return the panels of the row "The node of the first cause"."""
    ports = "host_name, device, port, error_type"
    throttle = 'reason!~"idle|clocks_setting"'
    return [
        lines(
            "SM clock",
            "Devices of the node, and the median of all nodes.",
            "hertz",
            PanelQuery(by_gpu(f'hw_frequency_hertz{{{_AT}, domain="sm"}}'), _GPU),
            PanelQuery(
                'quantile(0.5, hw_frequency_hertz{cluster=~"$cluster", domain="sm"})',
                "median of all nodes",
            ),
            steps=PLAIN,
            none=_NOWHERE,
            least=None,
            size=(8, 8),
        ),
        lines(
            "Temperature",
            "Devices of the node, and the median of all nodes.",
            "celsius",
            PanelQuery(by_gpu(f'hw_temperature_celsius{{{_AT}, hw_sensor="gpu"}}'), _GPU),
            PanelQuery(
                'quantile(0.5, hw_temperature_celsius{cluster=~"$cluster", hw_sensor="gpu"})',
                "median of all nodes",
            ),
            steps=above(80, 88),
            none=_NOWHERE,
            least=None,
            marked=True,
            size=(8, 8),
        ),
        lines(
            "Power",
            "Devices of the node, and the median of all nodes.",
            "watt",
            PanelQuery(by_gpu(f"hw_power_watts{{{_AT}}}"), _GPU),
            PanelQuery('quantile(0.5, hw_power_watts{cluster=~"$cluster"})', "median of all nodes"),
            steps=PLAIN,
            none=_NOWHERE,
            size=(8, 8),
        ),
        lines(
            "What holds the clocks down",
            "Devices and reasons that are active.",
            "none",
            PanelQuery(
                by_gpu(f"hw_gpu_throttle{{{_AT}, {throttle}}}", "reason") + " > 0",
                f"{_GPU} {{{{reason}}}}",
            ),
            steps=above(1),
            none=_NOWHERE,
        ),
        lines(
            "CPU, memory and pressure",
            "Shares of the node's CPU and memory in use, and of the time tasks waited.",
            "percentunit",
            PanelQuery(f"system_cpu_utilization{{{_AT}}}", "{{host_name}} CPU"),
            PanelQuery(
                f"max by (host_name) (system_memory_usage_bytes{{{_AT}}})"
                f" / max by (host_name) (system_memory_limit_bytes{{{_AT}}})",
                "{{host_name}} memory",
            ),
            PanelQuery(
                f'system_pressure{{{_AT}, kind="some"}}',
                "{{host_name}} waits for {{resource}}",
            ),
            steps=above(0.9, 0.98),
            none=_NOWHERE,
        ),
        lines(
            "Port errors",
            "Errors a minute of the node's ports, by kind; the 20 highest.",
            "none",
            PanelQuery(
                rated(f"hw_network_errors_total{{{_AT}}}", ports, minute=True),
                "{{host_name}} {{device}}:{{port}} {{error_type}}",
            ),
            steps=above(1, 60),
            none=_NOWHERE,
        ),
    ]
