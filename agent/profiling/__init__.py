"""Profiles on request: the agent asks the collector which are wanted.

Off unless `profiling.allowed` is set: then nobody is asked, no file is written and no trace taken.

In: requests from the collector. Out: requests to probes, traces to the collector.
Imports: vocabulary; health, open_file, requests, settings, trainers.
"""

from .service import ProfileService

__all__ = ["ProfileService"]
