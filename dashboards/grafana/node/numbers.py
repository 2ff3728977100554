"""The node at a look, and what its devices do."""

from ..panels import PLAIN, AnyPanel, Steps, above, below, lines, number
from ..queries import HELD_DOWN, HOST, PanelQuery, by_gpu, gained, now
from .selection import GPU

_LOST = 'rankscope_host_gpu_seconds_lost_total{host_name="$host"}'

_BAD: Steps = above(1, 1)[::2]


def numbers_row() -> list[AnyPanel]:
    """Return the panels of the row "Now"."""
    memory = f"system_memory_usage_bytes{{{HOST}}} / system_memory_limit_bytes{{{HOST}}}"
    panels = [
        number(
            "GPUs answering",
            "Accelerators whose driver answers.",
            "none",
            now(f'sum(hw_gpu_count{{{HOST}, state="answering"}})'),
            steps=PLAIN,
        ),
        number(
            "GPUs failed",
            "Accelerators that are on the bus and failed or do not answer.",
            "none",
            now(f'sum(hw_gpu_count{{{HOST}, state="failed"}})'),
            steps=_BAD,
        ),
        number(
            "GPUs held down",
            "Accelerators whose clocks heat, a power brake or the board hold down now.",
            "none",
            now(f"sum(max by (gpu) (hw_gpu_throttle{{{HOST}, {HELD_DOWN}}}))"),
            steps=above(1),
        ),
        number(
            "Uncorrectable errors",
            "Uncorrectable memory errors in the time range, all devices.",
            "none",
            now(
                f'round(sum(increase(hw_errors_total{{{HOST}, error_type="uncorrected"}}'
                "[$__range])))"
            ),
            steps=_BAD,
            decimals=0,
        ),
        number(
            "Ports down",
            "Network ports of the fabric that are down.",
            "none",
            now(f"count(hw_network_up{{{HOST}}} == 0) or vector(0)"),
            steps=_BAD,
        ),
        number(
            "CPU",
            "Share of the CPU time in use.",
            "percentunit",
            PanelQuery(f"system_cpu_utilization{{{HOST}}}"),
            steps=above(0.9, 0.98),
            decimals=0,
            trend=True,
        ),
        number(
            "Memory",
            "Share of the host's memory in use.",
            "percentunit",
            PanelQuery(memory),
            steps=above(0.9, 0.97),
            decimals=0,
            trend=True,
        ),
        number(
            "GPU-hours lost",
            "GPU time of incidents in the time range whose first cause is on this node.",
            "suffix: GPU h",
            now(f"sum({gained(_LOST)}) / 3600 or vector(0)"),
            steps=above(1, 24),
            decimals=2,
        ),
    ]
    return [panel.span(3) for panel in panels]


def work_row() -> list[AnyPanel]:
    """Return the panels of the row "Work"."""
    return [
        lines(
            "GPU utilization",
            "Share of time in which a kernel ran.",
            "percentunit",
            PanelQuery(by_gpu(f"hw_gpu_utilization{{{HOST}}}"), GPU),
            steps=below(0.7, 0.3),
        ),
        lines(
            "Matrix units",
            "Share of cycles in which the matrix units were busy, where the device tells.",
            "percentunit",
            PanelQuery(by_gpu(f"hw_gpu_tensor_activity{{{HOST}}}"), GPU),
            steps=PLAIN,
        ),
        lines(
            "Device memory",
            "Memory in use, as a share of what the device has.",
            "percentunit",
            PanelQuery(
                by_gpu(f"hw_gpu_memory_usage_bytes{{{HOST}}}")
                + " / "
                + by_gpu(f"hw_gpu_memory_limit_bytes{{{HOST}}}"),
                GPU,
            ),
            steps=above(0.92, 0.98),
            marked=True,
        ),
    ]
