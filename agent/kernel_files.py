"""Small files of the kernel's that are read over and over: held open, read from the start."""

import errno
import os
from contextlib import suppress
from enum import Enum


class FileTrouble(Enum):
    """Why a file gave nothing."""

    ABSENT = "absent"
    """There is no such file, or its device has left."""
    REFUSED = "refused"
    """The driver has no value for it now; for `carrier`: the interface is set down."""


class HeldDescriptor:
    """A file that stays open from one reading to the next. `_fd`: -1 while it is not."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd = -1

    def close(self) -> None:
        """Give the descriptor back; the next reading opens anew."""
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        self.close()

    def _open(self) -> None:
        """Open it. Raises OSError."""
        self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)


class HeldFile(HeldDescriptor):
    """One file. The kernel makes its text anew at each read from the start: it is opened once.

    Without `keep` it is opened each time all the same: descriptors are not without end.
    """

    def __init__(self, path: str, *, keep: bool = True) -> None:
        super().__init__(path)
        self._keep = keep

    def text(self) -> str | FileTrouble:
        """Return its text now, without the end of line."""
        try:
            return self._read(4096).decode(errors="replace").strip()
        except OSError as error:
            if error.errno == errno.EINVAL:
                return FileTrouble.REFUSED
            self.close()
            return FileTrouble.ABSENT if error.errno in _GONE else FileTrouble.REFUSED

    def data(self, most: int = 4096) -> bytes | None:
        """Return its first bytes as they are, None where it gives none now."""
        try:
            return self._read(most)
        except OSError:
            self.close()
            return None

    def _read(self, most: int) -> bytes:
        if self._fd < 0:
            self._open()
        data = os.pread(self._fd, most, 0)
        if not self._keep:
            self.close()
        return data


_GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR, errno.ENXIO, errno.EBADF})


def text(path: str) -> str:
    """Return a small file, "" where it is absent or has no value now."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 65536).decode(errors="replace").strip()
    except OSError:
        return ""
    finally:
        os.close(fd)


def number(path: str) -> int | None:
    """Return the number in a small file, None where it is absent or holds anything else.

    Drivers write "N/A (no PMA)" for counters their port does not keep.
    """
    return parsed(text(path))


def parsed(text: str | bytes | None) -> int | None:
    """Return the number that a small file's text is, None where it is anything else."""
    try:
        return None if text is None else int(text, 0)
    except ValueError:
        return None


def names(folder: str) -> list[str]:
    """Return what a folder holds, sorted; nothing where it is absent."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  names, not Paths
    except OSError:
        return []
