"""Node and GPU: one node, its accelerators whoever made them, and the host around them."""

from grafana_foundation_sdk.models import dashboard as models

from . import links
from .frame import Given, Put, Section, assemble, query
from .panels import PLAIN, Column, Steps, above, below, lines, listing, number, states
from .queries import HOST, Query, by_gpu, gained, now, rated, rows

_GPU = "{{host_name}} GPU {{gpu}}"
_PORT = "{{host_name}} {{device}}:{{port}}"
_OF_PORT = "host_name, device, port"
_HELD = f'hw_gpu_throttle{{{HOST}, reason!~"idle|clocks_setting"}}'
_LOST = 'rankscope_host_gpu_seconds_lost_total{host_name="$host"}'
_BAD: Steps = above(1, 1)[::2]


def build(given: Given) -> models.Dashboard:
    """Return the dashboard."""
    return assemble(
        links.NODE,
        "Rankscope / Node and GPU",
        "One node: accelerators of every vendor, their links, memory, clocks, and the host.",
        given=given,
        variables=[
            query(
                "host",
                "Node",
                'label_values(system_memory_limit_bytes{cluster=~"$cluster"}, host_name)',
                description="node.host of the agents",
            )
        ],
        incidents='host_name="$host"',
        sections=[
            Section("Now", _numbers()),
            Section("Work", _work()),
            Section("Heat, power and clocks", _clocks()),
            Section("Errors and links", _errors()),
            Section("Devices", [_devices()]),
            Section("Host", _host()),
        ],
    )


def _numbers() -> list[Put]:
    throttle = 'reason=~"thermal_hw|thermal_sw|slowdown_hw|power_brake"'
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
            now(f"sum(max by (gpu) (hw_gpu_throttle{{{HOST}, {throttle}}}))"),
            steps=above(1),
        ),
        number(
            "Uncorrectable errors",
            "Uncorrectable memory errors in the time range, all devices.",
            "none",
            now(f'sum(increase(hw_errors_total{{{HOST}, error_type="uncorrected"}}[$__range]))'),
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
            Query(f"system_cpu_utilization{{{HOST}}}"),
            steps=above(0.9, 0.98),
            decimals=0,
            trend=True,
        ),
        number(
            "Memory",
            "Share of the host's memory in use.",
            "percentunit",
            Query(memory),
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
    return [Put(panel, 3, 4) for panel in panels]


def _work() -> list[Put]:
    return [
        Put(
            lines(
                "GPU utilization",
                "Share of time in which a kernel ran.",
                "percentunit",
                Query(by_gpu(f"hw_gpu_utilization{{{HOST}}}"), _GPU),
                steps=below(0.7, 0.3),
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Matrix units",
                "Share of cycles in which the matrix units were busy, where the device tells.",
                "percentunit",
                Query(by_gpu(f"hw_gpu_tensor_activity{{{HOST}}}"), _GPU),
                steps=PLAIN,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Device memory",
                "Memory in use, as a share of what the device has.",
                "percentunit",
                Query(
                    by_gpu(f"hw_gpu_memory_usage_bytes{{{HOST}}}")
                    + " / "
                    + by_gpu(f"hw_gpu_memory_limit_bytes{{{HOST}}}"),
                    _GPU,
                ),
                steps=above(0.92, 0.98),
                marked=True,
            ),
            8,
            7,
        ),
    ]


def _clocks() -> list[Put]:
    return [
        Put(
            lines(
                "Temperature",
                "By sensor; a device slows itself where its limit is reached.",
                "celsius",
                Query(
                    by_gpu(f"hw_temperature_celsius{{{HOST}}}", "hw_sensor"),
                    f"{_GPU} {{{{hw_sensor}}}}",
                ),
                steps=above(80, 88),
                least=None,
                marked=True,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "Power",
                "Power drawn, and the limit in force.",
                "watt",
                Query(by_gpu(f"hw_power_watts{{{HOST}}}"), _GPU),
                Query(f"max(hw_power_limit_watts{{{HOST}}})", "limit"),
                steps=PLAIN,
            ),
            8,
            8,
        ),
        Put(
            lines(
                "SM clock",
                "Clock of the compute units, and the highest allowed now.",
                "hertz",
                Query(by_gpu(f'hw_frequency_hertz{{{HOST}, domain="sm"}}'), _GPU),
                Query(f'max(hw_frequency_limit_hertz{{{HOST}, domain="sm"}})', "limit"),
                steps=PLAIN,
                least=None,
            ),
            8,
            8,
        ),
        Put(
            states(
                "What holds the clocks down",
                "A row for each device and reason that was active in the time range. Idle and "
                "application clocks are left out.",
                Query(
                    f"{by_gpu(_HELD, 'reason')} and on (host_name, gpu, reason)"
                    f" (max_over_time({_HELD}[$__range] @ end()) > 0)",
                    f"{_GPU} {{{{reason}}}}",
                ),
                steps=above(1, 1)[::2],
                none="nothing held the clocks down",
            ),
            24,
            5,
        ),
    ]


def _errors() -> list[Put]:
    return [
        Put(
            lines(
                "Memory errors",
                "Errors of device memory in a minute; corrected ones are normal life when rare.",
                "none",
                Query(
                    rated(f"hw_errors_total{{{HOST}}}", "host_name, gpu, error_type", minute=True),
                    f"{_GPU} {{{{error_type}}}}",
                ),
                steps=above(1, 10),
                none="no memory errors",
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Device links",
                "NVLink and its like: links that are down, and errors in a minute.",
                "none",
                Query(
                    f"count by (host_name, gpu) (hw_gpu_nvlink_up{{{HOST}}} == 0)",
                    f"{_GPU} links down",
                ),
                Query(
                    rated(f"hw_gpu_nvlink_errors_total{{{HOST}}}", "host_name, gpu", minute=True),
                    f"{_GPU} errors",
                ),
                steps=above(1),
                none="all links up, no errors",
            ),
            8,
            7,
        ),
        Put(
            lines(
                "PCIe",
                "Devices that run on fewer lanes than they could, and replays in a minute.",
                "none",
                Query(
                    by_gpu(f"hw_gpu_pcie_width{{{HOST}}}")
                    + " / "
                    + by_gpu(f"hw_gpu_pcie_width_max{{{HOST}}}")
                    + " < 1",
                    f"{_GPU} share of lanes",
                ),
                Query(
                    rated(f"hw_gpu_pcie_replays_total{{{HOST}}}", "host_name, gpu", minute=True),
                    f"{_GPU} replays",
                ),
                steps=PLAIN,
                none="full width, no replays",
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Port traffic",
                "Bytes in a second, by port of the fabric and direction.",
                "Bps",
                Query(
                    f"sum by ({_OF_PORT}, direction)"
                    f" (rate(hw_network_io_bytes_total{{{HOST}}}[$__rate_interval]))",
                    f"{_PORT} {{{{direction}}}}",
                ),
                steps=PLAIN,
                none="no port of a fabric",
            ),
            12,
            7,
        ),
        Put(
            lines(
                "Port errors",
                "Errors a minute by port and kind; the 20 highest.",
                "none",
                Query(
                    rated(
                        f"hw_network_errors_total{{{HOST}}}", f"{_OF_PORT}, error_type", minute=True
                    ),
                    f"{_PORT} {{{{error_type}}}}",
                ),
                steps=above(1, 60),
                none="no port has errors",
            ),
            12,
            7,
        ),
    ]


def _devices() -> Put:
    return Put(
        listing(
            "Devices and who is on them",
            "What each device is, its driver, and the rank and job placed on it.",
            rows(f"hw_gpu_info{{{HOST}}}"),
            rows(f'hw_temperature_celsius{{{HOST}, hw_sensor="gpu"}}'),
            rows(f"hw_gpu_utilization{{{HOST}}}"),
            rows(f"training_rank_info{{{HOST}}}"),
            columns=[
                Column("gpu", "GPU", width=55),
                Column("hw_vendor", "Vendor", width=75),
                Column("hw_model", "Model"),
                Column("hw_driver_version", "Driver", width=110),
                Column("pci_bus_id", "PCI", width=145),
                Column("hw_id", "Device"),
                Column("rank", "Rank", width=60),
                Column("job_id", "Job", width=130, link=links.TO_JOB),
                Column("Value #B", "Temperature", "celsius", 105, steps=above(80, 88)),
                Column("Value #C", "Utilization", "percentunit", 95, steps=below(0.7, 0.3)),
            ],
            steps=PLAIN,
            none="no accelerator",
        ),
        24,
        9,
    )


def _host() -> list[Put]:
    return [
        Put(
            lines(
                "Pressure",
                "Share of time in which tasks waited for a resource.",
                "percentunit",
                Query(f"system_pressure{{{HOST}}}", "{{host_name}} {{resource}} {{kind}}"),
                steps=above(0.2, 0.5),
            ),
            8,
            7,
        ),
        Put(
            lines(
                "CPU and blocked processes",
                "CPU in use (1 is all of it) and processes in uninterruptible sleep.",
                "none",
                Query(f"system_cpu_utilization{{{HOST}}}", "{{host_name}} CPU in use"),
                Query(f"system_processes_blocked{{{HOST}}}", "{{host_name}} processes blocked"),
                steps=PLAIN,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Host memory",
                "Memory and shared memory in use, and what there is.",
                "bytes",
                Query(f"system_memory_usage_bytes{{{HOST}}}", "{{host_name}} memory"),
                Query(f"system_memory_limit_bytes{{{HOST}}}", "{{host_name}} memory, all"),
                Query(f"system_shm_usage_bytes{{{HOST}}}", "{{host_name}} shared memory"),
                steps=PLAIN,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Disks",
                "Share of time in which a disk was busy.",
                "percentunit",
                Query(
                    f"rate(system_disk_io_time_seconds_total{{{HOST}}}[$__rate_interval])",
                    "{{host_name}} {{device}}",
                ),
                steps=above(0.8, 0.95),
            ),
            8,
            7,
        ),
        Put(
            lines(
                "File systems",
                "Share in use.",
                "percentunit",
                Query(f"system_filesystem_utilization{{{HOST}}}", "{{host_name}} {{mountpoint}}"),
                steps=above(0.9, 0.97),
                marked=True,
            ),
            8,
            7,
        ),
        Put(
            lines(
                "Trainers held back",
                "CPU time that trainers could not get in a second: runnable but not running, and "
                "held back by the quota of their cgroup.",
                "suffix: CPUs",
                Query(
                    rated(f"process_cpu_wait_seconds_total{{{HOST}}}", "host_name, rank"),
                    "{{host_name}} rank {{rank}} waits",
                ),
                Query(
                    rated(f"container_cpu_throttled_seconds_total{{{HOST}}}", "host_name, rank"),
                    "{{host_name}} rank {{rank}} quota",
                ),
                steps=above(0.1, 0.5),
                none="no trainer waits for a CPU",
            ),
            8,
            7,
        ),
    ]
