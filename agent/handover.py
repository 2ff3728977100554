"""What other threads hand over to the main one, and the pipe that wakes it for them."""

import contextlib
import os
import queue
from collections.abc import Iterator
from typing import TypeVar

from ..vocabulary.samples import Event, Sample
from .readers import NodeReader
from .training_logs import LaunchedProcesses, LogBatch

T = TypeVar("T")

Emitted = Event | LogBatch | LaunchedProcesses
Read = tuple[NodeReader, list[Sample], float]
"""A reader, what it read, and when (seconds since the epoch)."""


class MainThreadHandover:
    """`emit`, `deliver` and `wake` may be called from any thread, `wake` from a signal handler too.

    The rest is the main thread's, which waits for `descriptor` to become readable.
    """

    def __init__(self) -> None:
        self.descriptor, self._other_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._emitted: queue.SimpleQueue[Emitted] = queue.SimpleQueue()
        self._read: queue.SimpleQueue[Read] = queue.SimpleQueue()

    def emit(self, event: Emitted) -> None:
        """Hand over an event, or what logs reported."""
        self._emitted.put(event)
        self.wake()

    def deliver(self, reader: NodeReader, samples: list[Sample], now: float) -> None:
        """Hand over a reading; it is taken when the main thread wakes next."""
        self._read.put((reader, samples, now))

    def wake(self) -> None:
        """Wake the main thread."""
        with contextlib.suppress(OSError):  # full: it wakes anyway; closed: nobody is there
            os.write(self._other_end, b"!")

    def woken(self) -> None:
        """Take what woke the main thread out of the pipe."""
        os.read(self.descriptor, 4096)

    def emitted(self) -> Iterator[Emitted]:
        return _taken(self._emitted)

    def readings(self) -> Iterator[Read]:
        return _taken(self._read)

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._other_end)


def _taken(waiting: "queue.SimpleQueue[T]") -> Iterator[T]:
    while True:
        try:
            yield waiting.get_nowait()
        except queue.Empty:
            return
