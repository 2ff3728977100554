"""A rank that stops advancing without ending."""

import ctypes
import signal
import threading
import time

from .contract import FaultMechanism, JobChange


class _StuckThread(JobChange):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        # The main thread alone stops: the probe's own threads live on, as in a real deadlock.
        threading.Event().wait()


class _HoldsLock(JobChange):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        # By PyDLL, which unlike CDLL does not let go of the interpreter's lock: no thread of this
        # process runs any more, the probe's neither.
        ctypes.PyDLL(None).sleep(1_000_000)


class _LoaderSleeps(JobChange):
    def load(self, dataset: "list[bytes]") -> None:  # noqa: ARG002
        time.sleep(1_000_000)


HOLDS_LOCK = FaultMechanism(
    name="gil-hold",
    fault="software.stuck_process",
    change=_HoldsLock,
    text="rank {rank} on {host}: an extension waits and holds the interpreter's lock",
)

LOADER = FaultMechanism(
    name="loader-hang",
    fault="software.stuck_process",
    change=_LoaderSleeps,
    answers=("software.stuck_process", "software.dataloader_slow"),
    text="rank {rank} on {host}: its data loader sleeps and gives no batch",
)

THREAD = FaultMechanism(
    name="stuck-thread",
    fault="software.stuck_process",
    change=_StuckThread,
    text="rank {rank} on {host}: its main thread stops before the next all-reduce",
)

STOPPED = FaultMechanism(
    name="stop-signal",
    fault="software.stuck_process",
    signal=signal.SIGSTOP,
    text="rank {rank} on {host}: its process is stopped by SIGSTOP",
)
