"""torch's pipe by which a process is asked for a dump of its Flight Recorder while it lives."""

import os
import stat
from pathlib import Path


class PipeError(Exception):
    """The process was not asked; the text is a label."""


def ask(path: Path, *, owner: int) -> None:
    """Write one byte into a pipe of a tenant's. Raises PipeError.

    Only into a FIFO of the user's that the process reads: opening never waits.
    """
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        )
    except OSError as error:  # nobody reads it: ENXIO
        raise PipeError("no_pipe") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISFIFO(status.st_mode) or status.st_uid != owner:
            raise PipeError("foreign_pipe")
        os.write(descriptor, b"1")
    except OSError as error:
        raise PipeError("no_pipe") from error
    finally:
        os.close(descriptor)
