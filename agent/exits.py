"""The ends of processes: seen at once through pidfds, with the exit status where it can be had.

Not being the parent, the agent cannot wait for a process. Two windows show the status: while it is
a zombie, field 52 of /proc/PID/stat (if we may trace it); once its parent has waited for it, the
pidfd itself (Linux 6.15). Older kernels and a quick parent leave the status unknown.
"""

import errno
import fcntl
import os
import select
import selectors
import struct
from dataclasses import dataclass
from pathlib import Path

from . import procfs

_INFO = struct.Struct("=QQ11Ii")  # struct pidfd_info, first version: 64 bytes, exit_code last
_WANT_EXIT = 1 << 3  # PIDFD_INFO_EXIT
_GET_INFO = (3 << 30) | (_INFO.size << 16) | (0xFF << 8) | 11  # PIDFD_GET_INFO, linux/pidfd.h
_TIMEOUT_SECONDS = 0.5
"""How long the status of a process may keep its parent's attention before we report without it."""


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """A process that ended. `status` is as wait() gives it, None when nobody could tell."""

    pid: int
    status: int | None

    @property
    def exit_code(self) -> int | None:
        """Return the code it exited with, None when unknown or ended by a signal."""
        if self.status is None or os.WIFSIGNALED(self.status):
            return None
        return os.waitstatus_to_exitcode(self.status)

    @property
    def signal(self) -> int | None:
        """Return the signal that ended it, None when unknown or none did."""
        if self.status is None or not os.WIFSIGNALED(self.status):
            return None
        return os.WTERMSIG(self.status)


@dataclass(slots=True)
class _WatchedProcess:
    pid: int
    started: int | None
    fd: int | None
    ended_at: float | None = None


class ExitWatch:
    """Watches processes; the selector it is given wakes its owner when one of them ends.

    Where pidfds are refused (before Linux 5.3, or by a sandbox), `ended` looks at /proc instead,
    so it is to be called at least once a second.
    """

    def __init__(
        self,
        *,
        selector: selectors.BaseSelector,
        proc: Path = procfs.PROC,
        pidfds: bool = hasattr(os, "pidfd_open"),
    ) -> None:
        self._selector = selector
        self._proc = proc
        self._pidfds = pidfds
        self._watched: dict[int, _WatchedProcess] = {}
        self._may_trace = procfs.may_trace_anyone(proc)

    def watch(self, pid: int) -> None:
        """Watch a process from now on; the next `ended` returns one that has already ended."""
        if pid in self._watched:
            return
        watched = _WatchedProcess(pid, procfs.start_ticks(pid, self._proc), None)
        self._watched[pid] = watched
        if not self._pidfds:
            return
        try:
            watched.fd = os.pidfd_open(pid)
        except ProcessLookupError:
            watched.started = None
            return
        except OSError as error:
            if error.errno in (errno.ENOSYS, errno.EPERM):
                self._pidfds = False
            return
        self._selector.register(watched.fd, selectors.EVENT_READ, watched.pid)

    def forget(self, pid: int) -> None:
        """Stop watching a process."""
        watched = self._watched.pop(pid, None)
        if watched is not None:
            self._close(watched)

    def ended(self, now: float) -> list[ProcessExit]:
        """Return the processes that ended since the last call, each once."""
        exits = []
        for watched in list(self._watched.values()):
            if watched.ended_at is None and not self._over(watched):
                continue
            if watched.ended_at is None:
                watched.ended_at = now
                if watched.fd is not None:  # it stays readable for good: do not spin on it
                    self._selector.unregister(watched.fd)
            status = self._status(watched)
            zombie = procfs.state(watched.pid, self._proc) == "Z"
            if status is None and zombie and now - watched.ended_at < _TIMEOUT_SECONDS:
                continue
            exits.append(ProcessExit(watched.pid, status))
            watched_fd, watched.fd = watched.fd, None
            if watched_fd is not None:
                os.close(watched_fd)
            del self._watched[watched.pid]
        return exits

    @property
    def waiting(self) -> bool:
        """Return whether an exit is held back for its status: call `ended` again soon."""
        return any(watched.ended_at is not None for watched in self._watched.values())

    def close(self) -> None:
        """Stop watching everything."""
        for watched in self._watched.values():
            self._close(watched)
        self._watched.clear()

    def _close(self, watched: _WatchedProcess) -> None:
        if watched.fd is None:
            return
        if watched.ended_at is None:
            self._selector.unregister(watched.fd)
        os.close(watched.fd)
        watched.fd = None

    def _over(self, watched: _WatchedProcess) -> bool:
        if watched.fd is not None:
            return _readable(watched.fd)
        started = procfs.start_ticks(watched.pid, self._proc)
        if started is None or started != watched.started:
            return True
        return procfs.state(watched.pid, self._proc) in ("Z", "X")

    def _status(self, watched: _WatchedProcess) -> int | None:
        if watched.fd is not None:
            status = _reaped_status(watched.fd)
            if status is not None:
                return status
        if procfs.start_ticks(watched.pid, self._proc) != watched.started:
            return None  # gone, and its number perhaps taken over
        return procfs.zombie_status(watched.pid, self._proc, trusted=self._may_trace)


def _readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _reaped_status(fd: int) -> int | None:
    """Return the wait status that the kernel kept with a pidfd, None before Linux 6.15."""
    answer = bytearray(_INFO.pack(_WANT_EXIT, *[0] * 13))
    try:
        fcntl.ioctl(fd, _GET_INFO, answer)
    except OSError:
        return None
    mask, *_, status = _INFO.unpack(answer)
    return status if mask & _WANT_EXIT else None
