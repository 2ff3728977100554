"""A trace on its way to the agent: compressed, in memory that cannot change, handed over open.

The agent gets the open file with the datagram, so that no folder needs to be shared with it, and
it reads memory that is sealed: no process can change it any more, or keep its reader waiting.
"""

import fcntl
import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from ..vocabulary.samples import Scalar
from .event_message import EventMessage

_LARGEST_WRITTEN = 512 << 20
"""Bytes that a trace may have before it is compressed, some twenty times."""
_PIECE = 1 << 20
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class SealedTrace:
    """A sealed file in memory; given back when nobody holds this object any more."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class TraceMessage(EventMessage):
    """An event with the trace that it is about."""

    __slots__ = ("_trace",)

    def __init__(
        self, name: str, at: float, attributes: dict[str, Scalar], trace: SealedTrace
    ) -> None:
        super().__init__(name, at, attributes)
        self._trace = trace

    def descriptor(self) -> int | None:
        """Return the trace's open file."""
        return self._trace.descriptor


def written(export: Callable[[str], object], *, max_bytes: int) -> SealedTrace:
    """Return what `export` writes into the file that it is given, compressed.

    Raises ValueError for a trace that is too large or empty, and OSError.
    """
    with tempfile.TemporaryDirectory(prefix="rankscope-") as folder:
        path = Path(folder) / "trace.json"
        export(str(path))
        size = path.stat().st_size if path.exists() else 0
        if not size:
            raise ValueError("torch.profiler wrote nothing")
        if size > _LARGEST_WRITTEN:
            raise ValueError(f"the trace has {size} bytes, more than {_LARGEST_WRITTEN}")
        trace = SealedTrace(
            os.memfd_create("rankscope-trace", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        )
        with path.open("rb") as source:
            _compress(source, trace.descriptor, max_bytes)
        fcntl.fcntl(trace.descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return trace


def _compress(source: BinaryIO, target: int, max_bytes: int) -> None:
    compressor = zlib.compressobj(level=3, wbits=31)  # 31: with gzip's header
    size = 0
    while piece := source.read(_PIECE):
        size += os.write(target, compressor.compress(piece))
        if size > max_bytes:
            break
    size += os.write(target, compressor.flush())
    if size > max_bytes:
        raise ValueError(f"the trace has more than {max_bytes} bytes; ask for fewer steps")
