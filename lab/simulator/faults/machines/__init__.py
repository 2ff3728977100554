"""Faults of machines: devices, network, hosts, storage; one file each, and the list."""

from typing import Any

from . import (
    cpu_contention,
    host_lost,
    host_oom,
    network_slow,
    slow_gpu,
    thermal_throttle,
)

FAULTS: dict[str, Any] = {
    "cpu_contention": cpu_contention.CpuContention,
    "thermal_throttle": thermal_throttle.ThermalThrottle,
    "slow_gpu": slow_gpu.SlowGpu,
    "host_oom": host_oom.HostOom,
    "host_lost": host_lost.HostLost,
    "network_slow": network_slow.NetworkSlow,
}
