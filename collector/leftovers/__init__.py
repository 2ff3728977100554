"""What a dead job left behind, read as the telemetry that nobody received while it lived.

Each kind of file has one reader here; what they return goes through the pipeline of the live
collector, so that the very same detectors and causes are asked.
"""

from .diagnosis import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
