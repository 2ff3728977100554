"""Where the worker begins: pynvml is loaded where there is a library that it could ask."""

import ctypes
import os
import sys

from .pipe import LinePipe, leave

_LIBRARY = "libnvidia-ml.so.1"
_NOT_FOUND = 12
"""NVML_ERROR_LIBRARY_NOT_FOUND."""


def main() -> None:
    """Run the worker; without the library say so and end."""
    try:
        ctypes.CDLL(_LIBRARY, mode=os.RTLD_LAZY)
    except OSError as error:
        LinePipe(sys.stdout.fileno()).write(fatal=_NOT_FOUND, text=str(error))
        leave(3)
    from . import worker  # noqa: PLC0415  it loads pynvml

    worker.main()
