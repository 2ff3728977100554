"""Memory that grows, runs out or is torn into pieces: device, host, shared memory.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .filling import FillingDetector
from .fragmentation import FragmentationDetector
from .gpu_leak import GpuLeakDetector
from .gpu_oom import GpuOomDetector
from .host_leak import HostLeakDetector
from .shm_errors import ShmErrorsDetector
from .worker_memory import WorkerMemoryDetector

DETECTORS: tuple[Detector, ...] = (
    GpuLeakDetector(),
    FragmentationDetector(),
    GpuOomDetector(),
    HostLeakDetector(),
    WorkerMemoryDetector(),
    FillingDetector(),
    ShmErrorsDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
