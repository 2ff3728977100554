"""A data loader with one worker process, forked from its trainer, as PyTorch's is."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any

_SAMPLE_BYTES = 1000
"""Four samples a page: reading any of them copies it."""


def has_worker(environ: Mapping[str, str]) -> bool:
    """Return whether batches are made in a worker process."""
    return environ.get("RANKSCOPE_LAB_WORKER") == "1"


def dataset(environ: Mapping[str, str]) -> list[bytes]:
    """Return the objects that the trainer holds before it forks its worker; usually none.

    Only the last rank holds any, to whose worker things happen: memory is not for wasting.
    """
    last = int(environ.get("RANK", "0")) == int(environ.get("WORLD_SIZE", "1")) - 1
    size = int(environ.get("RANKSCOPE_LAB_DATASET_MIB", "0")) << 20 if last else 0
    return [bytes([number % 251]) * _SAMPLE_BYTES for number in range(size // _SAMPLE_BYTES)]


def batches(make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Return what `make` yields, made in a forked process that ends with this one."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_serve, args=(ours, theirs, make), daemon=True)
    worker.start()
    theirs.close()
    return _received(ours)


def _received(source: Connection) -> Iterator[Any]:
    source.send(None)  # one batch ahead
    while True:
        source.send(None)
        yield source.recv()


def _serve(ours: Connection, theirs: Connection, make: Callable[[], Iterator[Any]]) -> None:
    ours.close()  # so that the trainer's end is seen
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    made = make()
    try:
        while True:
            theirs.recv()
            theirs.send(next(made))
    except (EOFError, ConnectionError):
        os._exit(0)
