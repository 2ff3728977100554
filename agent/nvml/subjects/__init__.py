"""What a device is asked, one subject a file: this is their contract and their list.

A subject asks through `Device.ask`, which isolates every function, and says values in the units of
the vocabulary through `Device.say`. It runs in the worker: standard library and pynvml only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ..asking import Device
from . import (
    activity,
    clocks,
    ecc,
    identity,
    memory,
    nvlink,
    pcie,
    power,
    processes,
    recovery,
    remapping,
    temperature,
    throttling,
    utilization,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """A subject: its reader's name, how it is read, and how often.

    `pace` is in seconds, for what an event may come of; None: with the ordinary period.
    """

    name: str
    read: Callable[[Device], None]
    pace: float | None = None


EVERY = (
    Subject("gpu_info", identity.read),
    Subject("gpu_utilization", utilization.read),
    Subject("gpu_activity", activity.read),
    Subject("gpu_memory", memory.read),
    Subject("gpu_temperature", temperature.read),
    Subject("gpu_power", power.read),
    Subject("gpu_clocks", clocks.read),
    Subject("gpu_throttling", throttling.read, pace=1.0),
    Subject("gpu_ecc", ecc.read, pace=2.0),
    Subject("gpu_row_remap", remapping.read, pace=2.0),
    Subject("gpu_pcie", pcie.read),
    Subject("gpu_nvlink", nvlink.read),
    Subject("gpu_processes", processes.read),
    Subject("gpu_recovery", recovery.read, pace=2.0),
)
