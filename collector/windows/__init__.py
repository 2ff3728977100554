"""What was received of every job and node, as matrices: columns in, windows out.

In flow decoded batches and events with their receive times, out what detectors and pages look at;
missing is NaN. It imports no other folder.
"""

from .windows import TelemetryWindows

__all__ = ["TelemetryWindows"]
