"""The exporters' habits: which readings of a device each one has, how often, how fine.

Read in the exporters' own lists (facts/node-telemetry.md, section 2, and formats/exporters). What
an exporter does not have is absent here: DCGM's default list has no throttle reason, no power limit
and no memory errors; npu-exporter neither throttling nor the PCIe link; dcu-exporter hardly
anything. Names are those after the mapping, values in base units, as fine as the exporter is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from ....vocabulary import tables
from ..shape import ReportingHabits, SimulatedCluster


@dataclass(frozen=True, slots=True)
class ExporterHabits:
    """One exporter.

    `period` is the least time between two of its readings (s). `metrics` maps what it has to the
    step in which its values come (0: as they are); `only` keeps of a metric the series with these
    values of their one telling attribute. `renamed` parts go by other words (hw.part). `status`
    tells whether it reports the device's state itself.
    """

    name: str
    period: float
    metrics: Mapping[str, float]
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    parts: tuple[str, ...] = ("hbm", "sram")
    status: bool = False


@cache
def habits() -> Mapping[str, ExporterHabits]:
    """Return the exporters by name, and "agent" for one that reads the devices itself."""
    rows = tables.packaged(ExporterHabits, __package__ or "", "exporters.toml", "reader")
    return {row.name: row for row in rows}


def reader(cluster: SimulatedCluster, reporting: ReportingHabits) -> str:
    """Return who reads the devices: "agent", or the name of the exporter in exporters.toml."""
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
        return reader == "agent" or habits()[reader].status
    everywhere = habits()["agent"].metrics
    return name not in everywhere or name in habits()[reader].metrics


def period(cluster: SimulatedCluster, reporting: ReportingHabits) -> float:
    """Return the seconds between two readings of a device."""
    wanted = reporting.device_period or reporting.node
    return max(wanted, habits()[reader(cluster, reporting)].period)
