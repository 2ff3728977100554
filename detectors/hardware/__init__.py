"""What devices, hosts and links report about themselves."""

from ..contract import Detector
from .cpu_time import CpuTime
from .device_faults import DeviceFaults

DETECTORS: tuple[Detector, ...] = (
    CpuTime(),
    DeviceFaults(),
)
"""Every detector of this family, with its default parameters: one line each."""
