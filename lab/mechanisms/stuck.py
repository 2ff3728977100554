"""A rank that stops advancing without ending."""

import signal
import threading

from .contract import Change, Mechanism


class _Waits(Change):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        # The main thread alone stops: the probe's own threads live on, as in a real deadlock.
        threading.Event().wait()


THREAD = Mechanism(
    name="stuck-thread",
    fault="software.stuck_process",
    change=_Waits,
    text="rank {rank} on {host}: its main thread stops before the next all-reduce",
)

STOPPED = Mechanism(
    name="stop-signal",
    fault="software.stuck_process",
    signal=signal.SIGSTOP,
    text="rank {rank} on {host}: its process is stopped by SIGSTOP",
)
