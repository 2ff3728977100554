"""Rewriting a whole file: after a crash or a power cut there is the old one or the new one."""

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path


def rewrite(path: Path, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    """Write a file whole or not at all, whoever else is writing it. Raises OSError.

    Its bytes are on the disk before it gets its name, and the name before this returns.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with fresh.open("wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
