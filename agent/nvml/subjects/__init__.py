"""What a device is asked, one function a subject: this is their contract and their list.

A subject asks through `Device.ask`, which isolates every call, and reports values in
the units of the vocabulary through `PolledDevice`. It runs in the worker: standard library and
pynvml only.

In: calls of NVML on one device. Out: values by metric and attributes. Imports: asking, clock_words.
"""

from collections.abc import Callable, Mapping

from ..asking import PolledDevice
from . import activity, errors, fabric, identity, links, readings

READ: Mapping[str, Callable[[PolledDevice], None]] = {
    "gpu_info": identity.identity,
    "gpu_utilization": readings.utilization,
    "gpu_activity": activity.read,
    "gpu_memory": readings.memory_of,
    "gpu_temperature": readings.temperature,
    "gpu_power": readings.power,
    "gpu_clocks": readings.clocks,
    "gpu_throttling": readings.throttling,
    "gpu_violations": readings.violations,
    "gpu_ecc": errors.ecc,
    "gpu_row_remap": errors.remapping,
    "gpu_pcie": links.pcie,
    "gpu_nvlink": links.nvlink,
    "gpu_nvlink_errors": links.nvlink_errors,
    "gpu_fabric": fabric.fabric,
    "gpu_processes": identity.processes,
    "gpu_recovery": errors.recovery,
}
"""How a subject is read, by its name (see `rankscope.agent.nvml.SUBJECTS`)."""
