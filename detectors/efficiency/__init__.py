"""Devices that are held and hardly used.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .idle_gpus import IdleGpusDetector
from .low_utilization import LowUtilizationDetector

DETECTORS: tuple[Detector, ...] = (
    IdleGpusDetector(),
    LowUtilizationDetector(),
)
"""Every detector of this family, with its default parameters: one line each."""
