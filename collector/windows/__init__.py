"""What was received of every job and node, as matrices: columns in, windows out.

Missing is NaN.

In: decoded batches and events with their receive times. Out: what detectors and pages look at.
Imports: detectors, formats, vocabulary.
"""

from .windows import TelemetryWindows

__all__ = ["TelemetryWindows"]
