"""The stack of a process whose threads cannot run: written by faulthandler's own thread.

While another thread holds the interpreter's lock (an extension that computes or waits with it)
the probe's thread cannot run either. faulthandler can: its watchdog is no Python thread. It is set
anew at every heartbeat and writes the stacks into memory that the agent holds open too, when
heartbeats stop. RANKSCOPE_STACKS=0 turns this off, and so does a job that uses that watchdog.
"""

import faulthandler
import os
from collections.abc import Callable, Mapping
from typing import Any

from .patches import Function, LibraryPatches, UnsupportedLibraryError

TIMEOUT_SECONDS = 11.0
"""After a heartbeat: two of them were missed."""
_OFF = {"0", "off", "false", "no"}


def refused(environ: Mapping[str, str]) -> bool:
    """Return whether the job wants no stacks to be taken."""
    return environ.get("RANKSCOPE_STACKS", "").strip().lower() in _OFF


class StackDumps:
    """One file in memory, and the watchdog that writes into it."""

    def __init__(self) -> None:
        # Read by the agent while it is written: sealing keeps no reader of memory waiting.
        self._file: int | None = os.memfd_create(
            "rankscope-stacks", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
        )
        self._pid = os.getpid()
        self._patches = LibraryPatches()
        self._set: Callable[..., Any] = faulthandler.dump_traceback_later
        self._cancel: Callable[[], Any] = faulthandler.cancel_dump_traceback_later
        try:
            self._patches.replace(faulthandler, "dump_traceback_later", self._noticing)
        except (UnsupportedLibraryError, AttributeError):
            self.close()

    def beat(self) -> int | None:
        """Set the watchdog anew; return the file for the agent, None where this is off."""
        file = self._file
        if file is None or os.getpid() != self._pid:
            return None
        if os.fstat(file).st_size:
            os.ftruncate(file, 0)  # whatever held the lock let go of it
            os.lseek(file, 0, os.SEEK_SET)
        self._set(TIMEOUT_SECONDS, file=file)
        return file

    def close(self) -> None:
        """Turn it off."""
        file, self._file = self._file, None
        if file is not None and os.getpid() == self._pid:
            self._cancel()
            self._patches.undo()
            os.close(file)

    def _noticing(self, original: Function) -> Function:
        def dump_traceback_later(*arguments: Any, **more: Any) -> Any:
            """Leave the watchdog to the job: a process has one."""
            self._patches.undo()
            # Not closed: the watchdog that is set may be about to write.
            self._file = None
            return original(*arguments, **more)

        return dump_traceback_later
