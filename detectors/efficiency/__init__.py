"""Devices that are held and hardly used."""

from ..contract import Detector
from .idle_gpus import IdleGpus
from .low_utilization import LowUtilization

DETECTORS: tuple[Detector, ...] = (
    IdleGpus(),
    LowUtilization(),
)
"""Every detector of this family, with its default parameters: one line each."""
