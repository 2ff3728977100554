"""A rank that ends before its peers: by an error, by a signal, or because its data ended."""

import ctypes
import os
import signal
from typing import NoReturn

from .contract import Change, Mechanism


class OrderedCrashError(RuntimeError):
    """What an ordered crash raises; nothing catches it."""


class _Raises(Change):
    def step(self, rank: int, index: int) -> NoReturn:
        raise OrderedCrashError(f"rank {rank} was ordered to crash at step {index}")


class _Exits(Change):
    def step(self, rank: int, index: int) -> NoReturn:  # noqa: ARG002
        os._exit(3)


class _Segfaults(Change):
    def step(self, rank: int, index: int) -> None:  # noqa: ARG002
        ctypes.string_at(0)


class _Ends(Change):
    def ends(self) -> bool:
        return True


EXCEPTION = Mechanism(
    name="exception",
    fault="software.crash",
    change=_Raises,
    text="rank {rank} on {host}: it raises an exception that nothing catches",
)

EXIT = Mechanism(
    name="early-exit",
    fault="software.crash",
    change=_Exits,
    text="rank {rank} on {host}: its process exits with code 3, without a word",
)

SEGFAULT = Mechanism(
    name="segfault",
    fault="software.crash",
    change=_Segfaults,
    text="rank {rank} on {host}: it reads address 0",
)

KILLED = Mechanism(
    name="kill-signal",
    fault="software.crash",
    signal=signal.SIGKILL,
    text="rank {rank} on {host}: its process is killed by SIGKILL",
)

SHORT_SHARD = Mechanism(
    name="short-shard",
    fault="software.uneven_batches",
    change=_Ends,
    text="rank {rank} on {host}: its data ends; it leaves the loop and waits for its peers",
)
