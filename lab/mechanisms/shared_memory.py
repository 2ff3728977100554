"""A /dev/shm that fills up with segments that nobody removes; a small one of the host's own."""

import contextlib
import tempfile
import time
from typing import IO

from .contract import UNHURRIED, FaultMechanism, JobChange

MIB = 1 << 20
SIZE_MIB = 64
RATE = 2.0 * MIB
FOLDER = "/dev/shm"  # noqa: S108  what the fault is about


class _SegmentFilling(JobChange):
    """Writes segments without a name, so that they are gone when the process is."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._kept: list[IO[bytes]] = []
        self._written = 0

    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        due = min((time.monotonic() - self._begun) * RATE, 2 * SIZE_MIB * MIB)
        while due - self._written >= MIB:
            self._written += MIB
            with contextlib.suppress(OSError):  # full
                segment = tempfile.TemporaryFile(dir=FOLDER, buffering=0)  # noqa: SIM115  kept
                self._kept.append(segment)
                segment.write(b"\1" * MIB)


FILLED = FaultMechanism(
    name="shm-segments",
    fault="memory.shm_exhausted",
    at="host",
    change=_SegmentFilling,
    job=UNHURRIED,
    shm_mib=SIZE_MIB,
    patience=240.0,
    symptoms=frozenset({"host.shm_full"}),
    text=f"rank {{rank}} on {{host}}: it writes segments into /dev/shm, {RATE / MIB:.0f} MiB a "
    f"second into a private one of {SIZE_MIB} MiB",
)
