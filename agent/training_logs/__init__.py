"""Logs of training jobs: found by process or by name, read within a share of a CPU.

In: bytes of log files, found by process or name. Out: samples and events of jobs, positions that
outlive the agent. Imports: formats, vocabulary; health, procfs, rank_processes, settings, state,
storms.
"""

from .following import LogFollower
from .lines import LaunchedProcesses, LogBatch
from .sources import LogSource, LogSources

__all__ = ["LaunchedProcesses", "LogBatch", "LogFollower", "LogSource", "LogSources"]
