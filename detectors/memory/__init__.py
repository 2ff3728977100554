"""Memory that grows, runs out or is torn into pieces: device, host, shared memory.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .filling import Filling
from .fragmentation import Fragmentation
from .gpu_leak import GpuLeak
from .gpu_oom import GpuOom
from .host_leak import HostLeak
from .shm_errors import ShmErrors
from .worker_memory import WorkerMemory

DETECTORS: tuple[Detector, ...] = (
    GpuLeak(),
    Fragmentation(),
    GpuOom(),
    HostLeak(),
    WorkerMemory(),
    Filling(),
    ShmErrors(),
)
"""Every detector of this family, with its default parameters: one line each."""
