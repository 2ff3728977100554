"""A kernel log that is a FIFO or a file: records as /dev/kmsg gives them, single or in storms.

A FIFO has no record boundaries and cannot seek: a reader splits at ends of line and must bear that
`lseek` fails. Where the real log overwrites what a slow reader has not read (EPIPE), a full FIFO
drops the record and only the sequence number shows it. Reference: the kernel's ABI document
dev-kmsg.
"""

import os
import select
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ERROR, WARNING, INFO = 3, 4, 6
"""Levels of the kernel's messages; facility 0 is the kernel itself."""


def _uptime() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class KernelLogDouble:
    """Writes records at `path`; counts those it had to drop."""

    def __init__(
        self,
        path: Path,
        *,
        fifo: bool = True,
        first: int = 1,
        uptime: Callable[[], float] = _uptime,
    ) -> None:
        self.path = path
        self.sequence = first
        """The number of the next record."""
        self.dropped = 0
        self._uptime = uptime
        path.parent.mkdir(parents=True, exist_ok=True)
        if fifo:
            os.mkfifo(path)
            # Both ends: readers come and go, and neither an end of file nor a signal follows.
            self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        else:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)

    def close(self) -> None:
        """Let go of the log; what was written to a file stays there."""
        os.close(self._fd)

    def record(
        self,
        text: str,
        *,
        level: int = ERROR,
        facility: int = 0,
        fields: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return the next record, "level,sequence,microseconds,-;text" and its fields below."""
        head = f"{facility * 8 + level},{self.sequence},{int(self._uptime() * 1e6)},-;"
        self.sequence += 1
        lines = [head + _escaped(text)]
        lines += [f" {name}={_escaped(value)}" for name, value in (fields or {}).items()]
        return ("\n".join(lines) + "\n").encode("ascii")

    def write(
        self, text: str, *, level: int = ERROR, fields: Mapping[str, str] | None = None
    ) -> int:
        """Log one line; returns its sequence number."""
        number = self.sequence
        self.raw(self.record(text, level=level, fields=fields))
        return number

    def raw(self, record: bytes) -> None:
        """Write bytes as they are, whole or (a full FIFO) not at all."""
        try:
            written = os.write(self._fd, record)
        except BlockingIOError:
            written = 0
        if written < len(record):
            # Only records of more than a pipe's atomic 4 KiB can be cut; the next one starts anew.
            self.dropped += 1

    def storm(
        self, text: str, count: int, *, level: int = ERROR, patience_seconds: float = 60.0
    ) -> None:
        """Log the same line so many times, as fast as it is read; raises TimeoutError if it is not.

        Nothing is dropped: many records go in one write, and a full FIFO is waited for.
        """
        until = time.monotonic() + patience_seconds
        while count:
            some = min(count, 64)
            rest = b"".join(self.record(text, level=level) for _ in range(some))
            count -= some
            while rest:
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except BlockingIOError as error:
                    left = until - time.monotonic()
                    if left <= 0 or not select.select([], [self._fd], [], left)[1]:
                        raise TimeoutError(f"nobody reads {self.path}") from error

    def skip(self, records: int) -> None:
        """Lose records, as a log does that wrapped before they were read."""
        self.sequence += records

    # -- lines that drivers write --------------------------------------------------------------

    def xid(
        self, address: str, code: int, text: str, *, pid: int | None = None, name: str = ""
    ) -> int:
        """Log an XID of the NVIDIA driver; `address` is the device's in sysfs."""
        who = f"pid={pid}, name={name or 'python3'}" if pid else "pid='<unknown>', name=<unknown>"
        bus = address.rsplit(".", 1)[0]
        return self.write(f"NVRM: Xid (PCI:{bus}): {code}, {who}, {text}")

    def sxid(self, address: str, code: int, text: str, *, link: int, fatal: bool = False) -> int:
        grade = "Fatal" if fatal else "Non-fatal"
        return self.write(
            f"nvidia-nvswitch0: SXid (PCI:{address}): {code:05d}, {grade}, Link {link:02d} {text}"
        )

    def oom_kill(self, pid: int, command: str, cgroup: str, *, rss_kib: int = 1 << 20) -> int:
        """Log a process killed for memory, in the two lines that belong together."""
        self.write(
            f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
            f"oom_memcg={cgroup},task_memcg={cgroup},task={command},pid={pid},uid=0",
            level=INFO,
        )
        return self.write(
            f"Memory cgroup out of memory: Killed process {pid} ({command}) "
            f"total-vm:{2 * rss_kib}kB, anon-rss:{rss_kib}kB, file-rss:0kB, shmem-rss:0kB, UID:0 "
            f"pgtables:4096kB oom_score_adj:0"
        )


def _escaped(text: str) -> str:
    r"""Return a text as the kernel prints it: what is not plain ASCII as \x and two digits."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}" for byte in text.encode()
    )
