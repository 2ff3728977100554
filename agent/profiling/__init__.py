"""Profiles on request: the agent asks the collector what is wanted, and hands traces over.

Off unless `profiling.allowed` is set: then nobody is asked, no file is written and no trace taken.

In: requests for profiles from the collector. Out: requests to probes, traces to the collector.
Imports: vocabulary; health, open_file, settings, trainers.
"""

from .service import ProfileService

__all__ = ["ProfileService"]
