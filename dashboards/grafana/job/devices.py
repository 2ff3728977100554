"""Memory by rank, and the devices that ranks run on."""

from collections.abc import Mapping

from ..panels import PLAIN, AnyPanel, above, below, lines
from ..queries import (
    HOSTS,
    MOST_SMALL,
    RANKS,
    PanelQuery,
    by_gpu,
    few,
    highest,
)
from .selection import OF_RANK, RANK


def placed(metric: str, top: str, **labels: str) -> str:
    """Return a device's metric by the rank that is on it, of the devices that `top` chooses.

    Only the few that are chosen are looked at in each point of time.
    """
    chosen_ = f"{_of_devices(metric, labels)} and on (host_name, hw_id) {top}"
    return by_gpu(chosen_, "rank")


def extreme(metric: str, function: str, sign: str = "", **labels: str) -> str:
    """Return the devices with a rank of the job on which a metric is most in the time range."""
    over = f"{function}({_of_devices(metric, labels)}[$__range] @ end())"
    return (
        f"topk({MOST_SMALL}, {sign}max by (host_name, hw_id) ({over}) and on (host_name, hw_id)"
        f" last_over_time(training_rank_info{{{RANKS}}}[$__range] @ end()))"
    )


def _of_devices(metric: str, labels: Mapping[str, str]) -> str:
    more = "".join(f', {name}="{value}"' for name, value in labels.items())
    return f'{metric}{{{HOSTS}, rank=~"$rank", rank!=""{more}}}'


def memory_row() -> list[AnyPanel]:
    """Return the panels of memory, two in a line: names of devices are long."""
    fullest = extreme("hw_gpu_memory_usage_bytes", "max_over_time")
    used = placed("hw_gpu_memory_usage_bytes", fullest)
    there = placed("hw_gpu_memory_limit_bytes", fullest)
    resident = f"process_memory_usage_bytes{{{RANKS}}}"
    by_role = "host_name, rank, role"
    return [
        lines(
            "Memory of the framework by rank",
            "Bytes that the framework's allocator holds from the device; the 12 highest.",
            "bytes",
            PanelQuery(
                highest(f"training_memory_reserved_bytes{{{RANKS}}}", OF_RANK, MOST_SMALL),
                RANK,
            ),
            steps=PLAIN,
            least=None,
            beside="max",
            size=(12, 9),
        ),
        lines(
            "Fullest devices",
            "Device memory in use, as a share of what the device has; the 12 fullest.",
            "percentunit",
            PanelQuery(
                f"{used} / {there}",
                "{{host_name}} rank {{rank}} GPU {{gpu}}",
            ),
            steps=above(0.92, 0.98),
            least=None,
            marked=True,
            beside="max",
            size=(12, 9),
        ),
        lines(
            "Host memory by rank",
            "Resident memory of trainers and their data loaders; the 12 highest.",
            "bytes",
            PanelQuery(
                few(
                    resident,
                    by_role,
                    f"max_over_time({resident}[$__range] @ end())",
                    MOST_SMALL,
                    operation="sum",
                ),
                "{{host_name}} rank {{rank}} {{role}}",
            ),
            steps=PLAIN,
            beside="max",
            size=(12, 9),
        ),
    ]


def devices_row() -> list[AnyPanel]:
    """Return the panels of what the job's devices do, two in a line."""
    device = "{{host_name}} GPU {{gpu}} rank {{rank}}"
    slowest = extreme("hw_frequency_hertz", "min_over_time", "-", domain="sm")
    hottest = extreme("hw_temperature_celsius", "max_over_time", hw_sensor="gpu")
    work = f'{{{HOSTS}, rank!=""}} and on (host_name, hw_id) training_rank_info{{{RANKS}}}'
    return [
        lines(
            "Lowest SM clocks",
            "Clock of the 12 devices that ran slowest in the time range; power capping lowers "
            "all, a fault lowers one.",
            "hertz",
            PanelQuery(
                placed("hw_frequency_hertz", slowest, domain="sm"),
                device,
            ),
            steps=PLAIN,
            least=None,
            beside="min",
            size=(12, 9),
        ),
        lines(
            "Hottest devices",
            "Temperature of the 12 devices that grew hottest.",
            "celsius",
            PanelQuery(
                placed("hw_temperature_celsius", hottest, hw_sensor="gpu"),
                device,
            ),
            steps=above(80, 88),
            least=None,
            marked=True,
            beside="max",
            size=(12, 9),
        ),
        lines(
            "Utilization and matrix units",
            "Mean over the job's devices. Kernels that run but leave the matrix units idle do "
            "not train.",
            "percentunit",
            PanelQuery(f"avg(hw_gpu_utilization{work})", "a kernel runs"),
            PanelQuery(f"avg(hw_gpu_tensor_activity{work})", "matrix units busy"),
            steps=below(0.7, 0.3),
            size=(12, 9),
        ),
    ]
