"""The storage that checkpoints are written to: a named pipe that a process empties.

`python -m rankscope.lab.jobs.storage PATH` makes the pipe at PATH and reads it until whoever
started it is gone. A writer blocks in write(2) as it does on a slow file system: the pipe holds 64
KiB. It is fast until the order for its mechanism comes.
"""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from . import orders

MECHANISM = "slow-checkpoint"
CHECKPOINT_BYTES = 4 << 20
SLOW_RATE = 512 << 10
"""Bytes a second: a checkpoint takes 8 s."""
_CHUNK = 32 << 10
_LOOK_SECONDS = 0.2


def due(environ: Mapping[str, str], rank: int, step: int) -> Path | None:
    """Return where this rank writes a checkpoint at this step; rank 0 writes for all."""
    path = environ.get("RANKSCOPE_LAB_CHECKPOINT")
    every = int(environ.get("RANKSCOPE_LAB_CHECKPOINT_STEPS", "100"))
    return Path(path) if path and rank == 0 and step and step % every == 0 else None


def write(path: Path, size: int = CHECKPOINT_BYTES) -> None:
    """Write one checkpoint of so many bytes, as a trainer does."""
    with path.open("wb", buffering=0) as target:
        for _ in range(size // _CHUNK):
            target.write(b"\0" * _CHUNK)


def serve(path: Path, order: Path | None) -> None:
    """Empty the pipe until the process that started this one is gone."""
    starter, slow, looked = os.getppid(), False, 0.0
    if not path.exists():
        os.mkfifo(path)
    pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)  # both ends: no reader or writer ever waits
    while os.getppid() == starter:
        if not slow and order is not None and time.monotonic() - looked > _LOOK_SECONDS:
            looked = time.monotonic()
            slow = orders.given(order, MECHANISM)
        try:
            size = len(os.read(pipe, _CHUNK))
        except BlockingIOError:
            time.sleep(0.01)
            continue
        if slow:
            time.sleep(size / SLOW_RATE)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), orders.file(os.environ))
