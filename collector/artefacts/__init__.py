"""What a dead job left behind, as the telemetry that nobody received.

In flow a folder of logs, Flight Recorder dumps and NCCL's files, out one incident document: the
pipeline of the live collector is asked. Each kind of file has one reader here. It may import
`replay`, `recordings`, `pipeline` and `settings`.
"""

from .diagnosis import FolderDiagnosis, diagnose

__all__ = ["FolderDiagnosis", "diagnose"]
