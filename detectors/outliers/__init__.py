"""Devices unlike their peers in a way that no other detector looks for."""

from ..contract import Detector
from .isolation import Isolation

DETECTORS: tuple[Detector, ...] = (Isolation(),)
"""Every detector of this family, with its default parameters: one line each."""
