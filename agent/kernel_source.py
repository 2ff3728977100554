"""Where lines of the kernel log come from: /dev/kmsg, or a FIFO or file of such lines.

/dev/kmsg gives one record a read, from the oldest that is still held, and says EPIPE once when
records were overwritten before they were read; a FIFO and a file give a stream of lines.
"""

import contextlib
import errno
import os
import select
import stat
from pathlib import Path

_RECORD = 16384
"""More than a record with its escapes and dictionary can have (Linux: 8 KiB)."""
_CHUNK = 65536
_LONGEST = 32768
_AT_ONCE = 512
"""Records of one batch: between two, the time is asked and the state looked at."""
_FILE_SECONDS = 0.2


def check(path: Path) -> None:
    """Raise the OSError that opening a source would raise."""
    if not stat.S_ISFIFO(path.stat().st_mode):
        KernelSource(path).close()
    elif not os.access(path, os.R_OK | os.W_OK):  # opened and closed, it would lose what is in it
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class KernelSource:
    """One open source; the constructor raises OSError. Closed by `close`, woken by `wake`."""

    def __init__(self, path: Path) -> None:
        mode = path.stat().st_mode
        self.device = stat.S_ISCHR(mode)
        self.pipe = stat.S_ISFIFO(mode)
        # A FIFO opened for reading only would say "end" whenever its last writer leaves.
        flags = os.O_RDWR if self.pipe else os.O_RDONLY
        self._fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
        self._wakened, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        if self.device or self.pipe:
            self._poll.register(self._fd, select.POLLIN)
        self._poll.register(self._wakened, select.POLLIN)
        self._rest = b""
        self._closed = False

    def wait(self, seconds: float) -> None:
        """Wait until something can be read, at most so long."""
        if not (self.device or self.pipe):
            seconds = min(seconds, _FILE_SECONDS)
        for fd, _ in self._poll.poll(seconds * 1000):
            if fd == self._wakened:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wakened, 64)

    def wake(self) -> None:
        """End a wait from another thread."""
        with contextlib.suppress(OSError):
            os.write(self._waker, b"x")

    def batch(self) -> list[bytes]:
        """Return what can be read now, oldest first; nothing when all was read.

        Raises OSError when the source is gone for good.
        """
        return self._records() if self.device else self._lines()

    def close(self) -> None:
        """Give the descriptors back."""
        if not self._closed:
            self._closed = True
            for fd in (self._fd, self._wakened, self._waker):
                os.close(fd)

    def _records(self) -> list[bytes]:
        found: list[bytes] = []
        fd, read = self._fd, os.read
        while len(found) < _AT_ONCE:
            try:
                found.append(read(fd, _RECORD))
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.EPIPE:
                    continue  # overwritten: the next read gives the oldest there is
                if error.errno == errno.EINVAL:
                    continue  # a record longer than our buffer: the kernel has moved past it
                raise
        return found

    def _lines(self) -> list[bytes]:
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return []
        if not chunk:
            self._begin_again()
            return []
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST:
            self._rest = b""  # no line of a kernel log: it is given up
        return lines

    def _begin_again(self) -> None:
        """Start over in a file that was cut."""
        if not self.pipe and os.fstat(self._fd).st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
            os.lseek(self._fd, 0, os.SEEK_SET)
            self._rest = b""
