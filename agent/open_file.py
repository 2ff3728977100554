"""An open file that another process handed over: closed when nobody holds it any more.

Python's own file objects warn when they are let go of open, and here the last one is not known.
"""

import contextlib
import fcntl
import os

SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
"""Of a file in memory that nobody can change any more."""


class OpenFile:
    """A descriptor. What it is of is unknown: only `seals` says that reading it never waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def of(cls, data: bytes) -> "OpenFile":
        """Return a sealed file in memory that holds these bytes. Raises OSError."""
        found = cls(os.memfd_create("rankscope", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING))
        view = memoryview(data)
        while view:
            view = view[os.write(found._descriptor, view) :]
        fcntl.fcntl(found._descriptor, fcntl.F_ADD_SEALS, SEALS)
        return found

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def seals(self) -> int | None:
        """Return the seals of a file in memory, None for any other file."""
        try:
            return fcntl.fcntl(self._descriptor, fcntl.F_GET_SEALS)
        except OSError:
            return None

    @property
    def size(self) -> int:
        """Return its bytes. Raises OSError."""
        return os.fstat(self._descriptor).st_size

    def rewind(self) -> None:
        """Read from the begin again. Raises OSError."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, all where no size is given. Raises OSError."""
        return os.read(self._descriptor, size if size >= 0 else self.size)

    def begin(self, size: int) -> bytes:
        """Return its first bytes, wherever it is being read or written. Raises OSError."""
        return os.pread(self._descriptor, size, 0)
