"""What is lost to which cause, and on which nodes."""

from .. import links
from ..panels import PLAIN, SEVERITY_HUES, AnyPanel, above, bars, below, lines
from ..queries import HELD_DOWN, JOBS_OR_NONE, PanelQuery, gained, highest, now, of_any, rows
from ..tables import TableColumn, listing
from .selection import CLUSTER, LOST


def lost_row() -> list[AnyPanel]:
    """Return the panels of the row "What is lost, and to what"."""
    return [
        bars(
            "GPU-hours lost by cause",
            "What incidents took in the time range, by the fault that is their first cause.",
            "suffix: GPU h",
            now(f"topk(15, sum by (fault) ({gained(LOST)})) / 3600", "{{fault}}"),
            steps=above(1, 24),
            size=(8, 8),
        ),
        lines(
            "GPUs lost, by cause",
            "GPUs whose time incidents take at that moment: so many might as well be off. "
            "Incidents of one job divide what it loses; together they never take more GPUs "
            "than it has.",
            "suffix: GPUs",
            PanelQuery(
                f"sum by (fault) (rankscope_gpus_lost{{{JOBS_OR_NONE}}})",
                "{{fault}}",
            ),
            steps=above(1, 8),
            stacked=True,
            none="nothing lost in this time range",
            size=(8, 8),
        ),
        lines(
            "Open incidents by severity",
            "Incidents that are not resolved.",
            "none",
            PanelQuery(
                f"sum by (severity) ({of_any(f'rankscope_incident_active{{{JOBS_OR_NONE}}}')})",
                "{{severity}}",
            ),
            steps=above(1, 5),
            stacked=True,
            hues=SEVERITY_HUES,
            none="no incident in this time range",
            size=(8, 8),
        ),
        bars(
            "GPU-hours that causes would give back",
            "What would not have been lost in the time range without the cause, by steps as "
            "they would be; of incidents whose steps could be compared.",
            "suffix: GPU h",
            now(
                "topk(15, sum by (fault) "
                f"({gained('rankscope_cause_gpu_seconds_lost_total')})) / 3600",
                "{{fault}}",
            ),
            steps=above(1, 24),
            size=(12, 8),
        ),
        bars(
            "Nodes whose repair would bring most",
            "GPUs whose time running jobs would give back with a node replaced by a healthy "
            "one; each node by itself.",
            "suffix: GPUs",
            now("topk(15, rankscope_host_gpus_gained)", "{{host_name}}"),
            steps=above(1, 8),
            size=(12, 8),
        ),
    ]


def nodes_row() -> list[AnyPanel]:
    """Return the panels of the row "Nodes"."""
    lost = f"sum by (host_name) ({gained('rankscope_host_gpu_seconds_lost_total')}) / 3600"
    throttled = f"max by (host_name, gpu) (hw_gpu_throttle{{{CLUSTER}, {HELD_DOWN}}})"
    uncorrected = f'hw_errors_total{{{CLUSTER}, error_type="uncorrected"}}'
    return [
        listing(
            "Worst nodes",
            "Nodes with GPU time lost to them, GPUs failed or held down, uncorrectable errors "
            "or network ports down: 20 of each.",
            rows(f"topk(20, {lost} > 0)"),
            rows(f"topk(20, sum by (host_name) ({throttled}) > 0)"),
            rows(f'topk(20, sum by (host_name) (hw_gpu_count{{{CLUSTER}, state="failed"}}) > 0)'),
            rows(f"topk(20, round(sum by (host_name) (increase({uncorrected}[$__range]))) > 0)"),
            rows(f"topk(20, count by (host_name) (hw_network_up{{{CLUSTER}}} == 0))"),
            columns=[
                TableColumn("host_name", "Node", link=links.TO_NODE),
                TableColumn("Value #A", "GPU h lost", "short", 110, steps=above(1, 24)),
                TableColumn("Value #B", "GPUs throttled", "none", 120, steps=above(1)),
                TableColumn("Value #C", "GPUs failed", "none", 110, steps=above(1, 1)[::2]),
                TableColumn("Value #D", "Memory errors", "none", 120, steps=above(1, 1)[::2]),
                TableColumn("Value #E", "Ports down", "none", 100, steps=above(1, 1)[::2]),
            ],
            steps=PLAIN,
            sort="GPU h lost",
            none="no node stands out",
            size=(14, 8),
        ),
        lines(
            "Hottest GPUs",
            "Temperature of the 20 GPUs that grew hottest in the time range.",
            "celsius",
            PanelQuery(
                highest(f'hw_temperature_celsius{{{CLUSTER}, hw_sensor="gpu"}}', "host_name, gpu"),
                "{{host_name}} GPU {{gpu}}",
            ),
            steps=above(80, 88),
            least=None,
            marked=True,
            beside="max",
            size=(10, 8),
        ),
        lines(
            "GPU utilization",
            "Share of time in which a kernel ran: mean, and the lowest tenth of all GPUs.",
            "percentunit",
            PanelQuery(f"avg(hw_gpu_utilization{{{CLUSTER}}})", "mean"),
            PanelQuery(f"quantile(0.1, hw_gpu_utilization{{{CLUSTER}}})", "lowest tenth"),
            steps=below(0.7, 0.3),
            size=(12, 7),
        ),
        lines(
            "Power",
            "Power that all GPUs draw.",
            "watt",
            PanelQuery(f"sum by (hw_vendor) (hw_power_watts{{{CLUSTER}}})", "{{hw_vendor}}"),
            steps=PLAIN,
            stacked=True,
            size=(12, 7),
        ),
    ]
