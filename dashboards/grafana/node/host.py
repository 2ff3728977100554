"""Which device serves whom, and the host around them."""

from .. import links
from ..panels import PLAIN, AnyPanel, above, below, lines
from ..queries import HOST, PanelQuery, rated, rows
from ..tables import TableColumn, listing


def devices_row() -> AnyPanel:
    """Return the panel "Devices and who is on them"."""
    return listing(
        "Devices and who is on them",
        "What each device is, its driver, and the rank and job placed on it.",
        rows(f"hw_gpu_info{{{HOST}}}"),
        rows(f'hw_temperature_celsius{{{HOST}, hw_sensor="gpu"}}'),
        rows(f"hw_gpu_utilization{{{HOST}}}"),
        rows(f"training_rank_info{{{HOST}}}"),
        columns=[
            TableColumn("gpu", "GPU", width=55),
            TableColumn("hw_vendor", "Vendor", width=75),
            TableColumn("hw_model", "Model"),
            TableColumn("hw_driver_version", "Driver", width=110),
            TableColumn("pci_bus_id", "PCI", width=145),
            TableColumn("hw_id", "Device"),
            TableColumn("rank", "Rank", width=60),
            TableColumn("job_id", "Job", width=130, link=links.TO_JOB),
            TableColumn("Value #B", "Temperature", "celsius", 105, steps=above(80, 88)),
            TableColumn("Value #C", "Utilization", "percentunit", 95, steps=below(0.7, 0.3)),
        ],
        steps=PLAIN,
        none="no accelerator",
        size=(24, 9),
    )


def host_row() -> list[AnyPanel]:
    """Return the panels of the row "Host"."""
    return [
        lines(
            "Pressure",
            "Share of time in which tasks waited for a resource.",
            "percentunit",
            PanelQuery(f"system_pressure{{{HOST}}}", "{{host_name}} {{resource}} {{kind}}"),
            steps=above(0.2, 0.5),
        ),
        lines(
            "CPU and blocked processes",
            "CPU in use (1 is all of it) and processes in uninterruptible sleep.",
            "none",
            PanelQuery(f"system_cpu_utilization{{{HOST}}}", "{{host_name}} CPU in use"),
            PanelQuery(f"system_processes_blocked{{{HOST}}}", "{{host_name}} processes blocked"),
            steps=PLAIN,
        ),
        lines(
            "Host memory",
            "Memory and shared memory in use, and what there is.",
            "bytes",
            PanelQuery(f"system_memory_usage_bytes{{{HOST}}}", "{{host_name}} memory"),
            PanelQuery(f"system_memory_limit_bytes{{{HOST}}}", "{{host_name}} memory, all"),
            PanelQuery(f"system_shm_usage_bytes{{{HOST}}}", "{{host_name}} shared memory"),
            steps=PLAIN,
        ),
        lines(
            "Disks",
            "Share of time in which a disk was busy.",
            "percentunit",
            PanelQuery(
                f"rate(system_disk_io_time_seconds_total{{{HOST}}}[$__rate_interval])",
                "{{host_name}} {{device}}",
            ),
            steps=above(0.8, 0.95),
        ),
        lines(
            "File systems",
            "Share in use.",
            "percentunit",
            PanelQuery(f"system_filesystem_utilization{{{HOST}}}", "{{host_name}} {{mountpoint}}"),
            steps=above(0.9, 0.97),
            marked=True,
        ),
        lines(
            "Trainers held back",
            "CPU time that trainers could not get in a second: runnable but not running, and "
            "held back by the quota of their cgroup.",
            "suffix: CPUs",
            PanelQuery(
                rated(f"process_cpu_wait_seconds_total{{{HOST}}}", "host_name, rank"),
                "{{host_name}} rank {{rank}} waits",
            ),
            PanelQuery(
                rated(f"container_cpu_throttled_seconds_total{{{HOST}}}", "host_name, rank"),
                "{{host_name}} rank {{rank}} quota",
            ),
            steps=above(0.1, 0.5),
            none="no trainer waits for a CPU",
        ),
    ]
