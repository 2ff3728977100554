"""Devices unlike their peers in a way that no other detector looks for.

In: windows of a job. Out: findings of this family. Imports: vocabulary; what stands below it.
"""

from ..contract import Detector
from .isolation import IsolationDetector

DETECTORS: tuple[Detector, ...] = (IsolationDetector(),)
"""Every detector of this family, with its default parameters: one line each."""
