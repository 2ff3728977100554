"""The exporters' habits: which readings of a device each one has, how often, how fine.

Read in the exporters' own lists (facts/node-telemetry.md, section 2, and formats/exporters). What
an exporter does not have is absent here: DCGM's default list has no throttle reason, no power limit
and no memory errors; npu-exporter neither throttling nor the PCIe link; dcu-exporter hardly
anything. Names are those after the mapping, values in base units, as fine as the exporter is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..shape import ReportingHabits, SimulatedCluster

WHOLE = 1.0
PERCENT = 0.01


@dataclass(frozen=True, slots=True)
class ExporterHabits:
    """One exporter.

    `period` is the least time between two of its readings (s). `metrics` maps what it has to the
    step in which its values come (0: as they are); `only` keeps of a metric the series with these
    values of their one telling attribute. `renamed` parts go by other words (hw.part). `status`
    tells whether it reports the device's state itself.
    """

    period: float
    metrics: Mapping[str, float]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    parts: tuple[str, ...] = ("hbm", "sram")
    status: bool = False


_COMMON = {
    "hw.gpu.info": 0.0,
    "hw.gpu.utilization": PERCENT,
    "hw.temperature": WHOLE,
    "hw.power": 0.1,
    "hw.frequency": 1e6,
}

HABITS: dict[str, ExporterHabits] = {
    "agent": ExporterHabits(
        0.0,
        {
            **_COMMON,
            "hw.gpu.memory.copy.utilization": PERCENT,
            "hw.gpu.sm.activity": 1e-3,
            "hw.gpu.tensor.activity": 1e-3,
            "hw.gpu.memory.activity": 1e-3,
            "hw.gpu.memory.usage": 0.0,
            "hw.gpu.memory.limit": 0.0,
            "hw.power.limit": 0.0,
            "hw.energy": 1e-3,
            "hw.frequency.limit": 1e6,
            "hw.temperature.limit": WHOLE,
            "hw.gpu.throttle": 0.0,
            "hw.gpu.throttle.duration": 0.0,
            "hw.errors": 0.0,
            "hw.gpu.row_remap": 0.0,
            "hw.gpu.row_remaps": 0.0,
            "hw.gpu.pcie.width": 0.0,
            "hw.gpu.pcie.width.max": 0.0,
            "hw.gpu.pcie.generation": 0.0,
            "hw.gpu.pcie.generation.max": 0.0,
            "hw.gpu.pcie.replays": 0.0,
            "hw.gpu.pcie.io": WHOLE,
            "hw.gpu.nvlink.up": 0.0,
            "hw.gpu.nvlink.errors": 0.0,
            "hw.gpu.nvlink.io": 1024.0,
            "hw.gpu.process.memory": 0.0,
            "hw.gpu.count": 0.0,
        },
    ),
    "dcgm": ExporterHabits(
        15.0,
        {
            **_COMMON,
            "hw.power": 1e-3,
            "hw.gpu.memory.copy.utilization": PERCENT,
            "hw.gpu.tensor.activity": 1e-6,
            "hw.gpu.memory.activity": 1e-6,
            "hw.gpu.graphics.activity": 1e-6,
            "hw.gpu.memory.usage": 2.0**20,
            "hw.gpu.memory.limit": 2.0**20,
            "hw.energy": 1e-3,
            "hw.gpu.pcie.replays": 0.0,
            "hw.gpu.row_remap": 0.0,
            "hw.gpu.row_remaps": 0.0,
            "hw.gpu.nvlink.throughput": 1e6,
        },
        only={"hw.gpu.row_remap": ("failed",)},
    ),
    "amd": ExporterHabits(
        10.0,
        {
            **_COMMON,
            "hw.power": WHOLE,
            "hw.energy": 1e-6,
            "hw.frequency.limit": 1e6,
            "hw.gpu.memory.activity": PERCENT,
            "hw.gpu.memory.usage": 1e6,
            "hw.gpu.memory.limit": 1e6,
            "hw.gpu.sm.activity": PERCENT,
            "hw.gpu.tensor.activity": PERCENT,
            "hw.gpu.throttle.share": PERCENT,
            "hw.errors": 0.0,
            "hw.gpu.pcie.generation": 0.0,
            "hw.gpu.pcie.generation.max": 0.0,
            "hw.gpu.pcie.replays": 0.0,
            "hw.gpu.nvlink.io": 1000.0,
        },
        parts=("hbm",),
        status=True,
    ),
    "ascend": ExporterHabits(
        5.0,
        {
            **_COMMON,
            "hw.gpu.tensor.activity": PERCENT,
            "hw.gpu.memory.activity": PERCENT,
            "hw.gpu.memory.usage": 1e6,
            "hw.gpu.memory.limit": 1e6,
            "hw.gpu.processes": 0.0,
            "hw.gpu.process.memory": 1e6,
            "hw.errors": 0.0,
            "hw.gpu.retired_pages": 0.0,
            "hw.gpu.nvlink.errors": 0.0,
            "hw.gpu.count": 0.0,
        },
        only={"hw.gpu.nvlink.errors": ("crc",), "hw.frequency": ("sm",)},
        parts=("hbm",),
        status=True,
    ),
    "hygon": ExporterHabits(
        10.0,
        {
            **_COMMON,
            "hw.power": WHOLE,
            "hw.power.limit": 0.0,
            "hw.gpu.memory.usage": 0.0,
            "hw.gpu.memory.limit": 0.0,
            "hw.errors": 0.0,
        },
        only={"hw.temperature": ("gpu",), "hw.frequency": ("sm",)},
        parts=("hbm",),
    ),
    "cambricon": ExporterHabits(
        5.0,
        {
            **_COMMON,
            "hw.power": WHOLE,
            "hw.power.limit": 0.0,
            "hw.gpu.tensor.activity": PERCENT,
            "hw.gpu.sm.activity": PERCENT,
            "hw.gpu.memory.usage": 0.0,
            "hw.gpu.memory.limit": 0.0,
            "hw.gpu.throttle": 0.0,
            "hw.errors": 0.0,
            "hw.gpu.row_remap": 0.0,
            "hw.gpu.row_remaps": 0.0,
            "hw.gpu.pcie.width": 0.0,
            "hw.gpu.pcie.width.max": 0.0,
            "hw.gpu.pcie.generation": 0.0,
            "hw.gpu.pcie.generation.max": 0.0,
            "hw.gpu.pcie.replays": 0.0,
            "hw.gpu.nvlink.up": 0.0,
            "hw.gpu.nvlink.errors": 0.0,
            "hw.gpu.process.memory": 0.0,
            "hw.gpu.count": 0.0,
        },
        only={"hw.gpu.throttle": ("thermal_hw",)},
        status=True,
    ),
}


def reader(cluster: SimulatedCluster, reporting: ReportingHabits) -> str:
    """Return who reads the devices: "agent", or the name of the exporter in HABITS."""
    if cluster.accelerator != "nvidia":
        return cluster.accelerator
    return "agent" if reporting.devices == "agent" else "dcgm"


def has(name: str, reader: str) -> bool:
    """Return whether who reads the devices has a metric or event; True for what is not theirs.

    Fault codes are NVIDIA's; npu-exporter has codes for what loses a device or its memory.
    """
    if name == "gpu.fault":
        return reader in ("agent", "dcgm", "ascend")
    if name == "hw.status":
        return reader == "agent" or HABITS[reader].status
    everywhere = HABITS["agent"].metrics
    return name not in everywhere or name in HABITS[reader].metrics


def period(cluster: SimulatedCluster, reporting: ReportingHabits) -> float:
    """Return the seconds between two readings of a device."""
    wanted = reporting.device_period or reporting.node
    return max(wanted, HABITS[reader(cluster, reporting)].period)
