"""Devices that are held and hardly used.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .idle_gpus import IdleGpus
from .low_utilization import LowUtilization

DETECTORS: tuple[Detector, ...] = (
    IdleGpus(),
    LowUtilization(),
)
"""Every detector of this family, with its default parameters: one line each."""
