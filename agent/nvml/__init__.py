"""NVIDIA's library, at arm's length: a worker process asks it, the agent reads the answers.

`worker` and `subjects` run in the worker, a bare interpreter with nothing but the standard library
and pynvml; `supervisor` runs in the agent and never calls the library.

In: the driver's answers, through the worker's pipe. Out: samples, events and descriptions of
devices. Imports: vocabulary; devices, health.
"""

from collections.abc import Mapping

SUBJECTS: Mapping[str, float | None] = {
    "gpu_info": None,
    "gpu_utilization": None,
    "gpu_activity": None,
    "gpu_memory": None,
    "gpu_temperature": None,
    "gpu_power": None,
    "gpu_clocks": None,
    "gpu_throttling": 1.0,
    "gpu_violations": None,
    "gpu_ecc": 2.0,
    "gpu_row_remap": 2.0,
    "gpu_pcie": None,
    "gpu_nvlink": None,
    "gpu_nvlink_errors": 15.0,
    "gpu_fabric": 5.0,
    "gpu_processes": None,
    "gpu_recovery": 2.0,
}
"""What a device is asked, and how often in seconds; None: with the ordinary period.

Those of which an event may come are asked more often; the errors of NVLinks, 54 counters a device,
less often. Each is a file in `subjects`; the names are
here because the agent must not load pynvml.
"""
