"""Profiles on request: the agent asks the collector what is wanted, and hands traces over.

Off unless `profiling.allowed` is set: then nobody is asked, no file is written and no trace taken.
"""

from .service import Profiling

__all__ = ["Profiling"]
