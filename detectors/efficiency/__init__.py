"""Reserved devices that do little."""

from ..contract import Detector

DETECTORS: tuple[Detector, ...] = ()
"""Every detector of this family, with its default parameters: one line each."""
