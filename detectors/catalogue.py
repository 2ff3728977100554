"""Every detector there is: one file each, one line here."""

from .contract import Detector
from .cpu_time import CpuTime
from .data_wait import DataWait
from .device_faults import DeviceFaults
from .exits import Exits
from .extra_work import ExtraWork
from .nonfinite import Nonfinite
from .silent_hosts import SilentHosts
from .slow_steps import SlowSteps
from .stalls import Stalls
from .stragglers import Stragglers


def detectors() -> tuple[Detector, ...]:
    """Return one of each, with its default parameters."""
    return (
        SlowSteps(),
        Stragglers(),
        DataWait(),
        ExtraWork(),
        CpuTime(),
        DeviceFaults(),
        Stalls(),
        Nonfinite(),
        Exits(),
        SilentHosts(),
    )
