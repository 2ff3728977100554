"""What a device is asked, one subject a file: this is their contract and their list.

A subject asks through `Device.ask`, which isolates every function, and reports values in
the units of the vocabulary through `Device`. It runs in the worker: standard library and
pynvml only.

In: calls of NVML on one device. Out: values by metric and attributes. Imports: vocabulary; asking.
"""

from collections.abc import Callable, Mapping

from ..asking import Device
from . import (
    activity,
    clocks,
    ecc,
    identity,
    memory,
    nvlink,
    nvlink_errors,
    pcie,
    power,
    processes,
    recovery,
    remapping,
    temperature,
    throttling,
    utilization,
    violations,
)

READ: Mapping[str, Callable[[Device], None]] = {
    "gpu_info": identity.read,
    "gpu_utilization": utilization.read,
    "gpu_activity": activity.read,
    "gpu_memory": memory.read,
    "gpu_temperature": temperature.read,
    "gpu_power": power.read,
    "gpu_clocks": clocks.read,
    "gpu_throttling": throttling.read,
    "gpu_violations": violations.read,
    "gpu_ecc": ecc.read,
    "gpu_row_remap": remapping.read,
    "gpu_pcie": pcie.read,
    "gpu_nvlink": nvlink.read,
    "gpu_nvlink_errors": nvlink_errors.read,
    "gpu_processes": processes.read,
    "gpu_recovery": recovery.read,
}
"""How a subject is read, by its name (see `rankscope.agent.nvml.SUBJECTS`)."""
