"""Memory that grows, runs out or is torn into pieces: device, host, shared memory."""

from ..contract import Detector

DETECTORS: tuple[Detector, ...] = ()
"""Every detector of this family, with its default parameters: one line each."""
