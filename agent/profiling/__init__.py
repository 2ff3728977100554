"""Profiles and checks on request: the agent asks the collector what is wanted.

Off unless `profiling.allowed` or `checking.allowed` is set: then nobody is asked, no file is
written, no trace taken and no check run.

In: requests from the collector. Out: requests to probes, traces to the collector, runs of checks.
Imports: vocabulary; health, open_file, settings, trainers.
"""

from .service import ProfileService

__all__ = ["ProfileService"]
