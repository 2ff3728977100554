"""What a dead job left behind, as the telemetry that nobody received.

The pipeline of the live collector is asked. Each kind of file has one reader here.

In: logs, Flight Recorder dumps and NCCL's files, in folders or archives. Out: one incident
document. Imports: checks, detectors, formats, vocabulary; intake, pipeline, recordings, replay,
settings.
"""

from .diagnosis import FolderDiagnosis, diagnose

__all__ = ["FolderDiagnosis", "diagnose"]
