"""One file that grows, read in pieces from where it was left.

A file is opened once and by its inode, so that renaming it changes nothing; a file
that was cut is read from its beginning.
"""

import hashlib
import os
import stat

_HEAD = 256


class FileTail:
    """An open file and how far it was read. The constructor raises OSError."""

    def __init__(self, path: str, *, position: int | None, head: str = "") -> None:
        """Open a file at a position; None: at its end.

        head: what the first bytes were when the position was noted. Where they are others now, the
        number of a file that is gone was given to this one, and it is read from its beginning.
        """
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(self._fd)
            raise OSError(f"{path} is not a regular file")
        self.inode = (status.st_dev, status.st_ino)
        self.size = status.st_size
        if position is not None and head and not self._begins_with(head):
            position = 0
        self.position = status.st_size if position is None else min(position, status.st_size)
        self.torn = position is None and status.st_size > 0
        """The next bytes may begin inside a line."""

    def grown(self) -> int:
        """Return how many bytes wait to be read; a file that was cut is read from its beginning."""
        self.size = os.fstat(self._fd).st_size
        if self.size < self.position:
            self.position = 0
            self.torn = False
        return self.size - self.position

    def read(self, count: int) -> bytes:
        """Return the next bytes, at most so many."""
        data = os.pread(self._fd, count, self.position)
        self.position += len(data)
        return data

    def skip_to(self, position: int) -> int:
        """Leave bytes out; return how many."""
        left_out = position - self.position
        self.position = position
        return left_out

    @property
    def head(self) -> str:
        """Return a digest of the first bytes and their number: what the file is, with its inode."""
        data = os.pread(self._fd, min(_HEAD, self.position), 0)
        return f"{len(data)}:{_digest(data)}"

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)

    def _begins_with(self, head: str) -> bool:
        count, _, digest = head.partition(":")
        if not count.isdecimal() or int(count) > _HEAD:
            return False
        return _digest(os.pread(self._fd, int(count), 0)) == digest


def _digest(data: bytes) -> str:
    return hashlib.blake2s(data, digest_size=8).hexdigest()
