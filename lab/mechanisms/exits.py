"""A rank that ends before its peers: by an error, by a signal, or because its data ended."""

import ctypes
import os
import signal
from typing import NoReturn

from .contract import FaultMechanism, JobChange


class OrderedCrashError(RuntimeError):
    """What an ordered crash raises; nothing catches it."""


class _RaisedException(JobChange):
    def step(self, rank: int, index: int) -> NoReturn:
        raise OrderedCrashError(f"rank {rank} was ordered to crash at step {index}")


class _EarlyExit(JobChange):
    def step(self, rank: int, index: int) -> NoReturn:  # noqa: ARG002
        os._exit(3)


class _SegfaultExit(JobChange):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        ctypes.string_at(0)


class _EndBySignal(JobChange):
    def ends(self) -> bool:
        return True


EXCEPTION = FaultMechanism(
    name="exception",
    fault="software.crash",
    change=_RaisedException,
    text="rank {rank} on {host}: it raises an exception that nothing catches",
)

EXIT = FaultMechanism(
    name="early-exit",
    fault="software.crash",
    change=_EarlyExit,
    text="rank {rank} on {host}: its process exits with code 3, without a word",
)

SEGFAULT = FaultMechanism(
    name="segfault",
    fault="software.crash",
    change=_SegfaultExit,
    text="rank {rank} on {host}: it reads address 0",
)

KILLED = FaultMechanism(
    name="kill-signal",
    fault="software.crash",
    signal=signal.SIGKILL,
    text="rank {rank} on {host}: its process is killed by SIGKILL",
)

SHORT_SHARD = FaultMechanism(
    name="short-shard",
    fault="software.uneven_batches",
    change=_EndBySignal,
    text="rank {rank} on {host}: its data ends; it leaves the loop and waits for its peers",
)
