"""Snapshots: the state of evaluation at an offset, so that a start goes on where the last one was.

One file: a line of JSON (format, fingerprint of the code, offset, evaluated second, lengths,
checksum), the pickle, then numpy's buffers as they lie in memory. A snapshot of other code, of
trimmed entries, or a damaged one is not used: the last minutes of the journal are read instead.

Live, a forked child writes it: it has a still picture of the whole state for the cost of the page
tables, while evaluation goes on. The child does nothing but pickle and write.
"""

import contextlib
import gc
import hashlib
import io
import json
import math
import os
import pickle
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import structlog
from numpy.typing import NDArray

from ...formats import segments
from ..journal.interface import Offset
from .schedule import ScheduleTime

# gRPC, where an extra loads it, installs handlers of a fork when it is first loaded, and they have
# crashed the child, which never calls it. This module is loaded before any of those extras.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

_LOG = structlog.get_logger(__name__)
_FORMAT = "rankscope-snapshot-1"
_PACKAGES = ("vocabulary", "formats", "detectors", "alerts", "collector")
"""Whose classes are in a snapshot, or decide what its numbers mean."""
_NICE = 10
_CHILD_SECONDS = 20.0
"""A child that writes for longer when everything ends: the state is written anew without it."""
_PIECE_BYTES = 16 << 10
_ZEROS = bytes(_PIECE_BYTES)


class SnapshotError(Exception):
    """A snapshot that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class PipelineSnapshot:
    """The pipeline as it was when all up to `offset` was applied and `moment` reached.

    `unstored` are the items that the store had not committed yet.
    """

    pipeline: Any
    offset: Offset | None
    moment: ScheduleTime
    unstored: Sequence[Any] = ()


class SnapshotFile:
    """The snapshot file of one collector. For one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._child: int | None = None

    @property
    def writing(self) -> bool:
        """Tell whether a child is still writing one."""
        return self._running()

    def _running(self) -> bool:
        if self._child is None:
            return False
        child, status = os.waitpid(self._child, os.WNOHANG)
        if child == 0:
            return True
        self._child = None
        if status != 0:
            _LOG.error("a snapshot could not be written: a restart reads more of the journal")
            for left in self._path.parent.glob(f"{self._path.name}.{child}-*"):
                left.unlink(missing_ok=True)
        return False

    def evaluated(self) -> int | None:
        """Return the second that the snapshot at hand had reached, None without a usable one."""
        try:
            with self._path.open("rb") as file:
                seconds = _header(file)["evaluated"]
        except (OSError, SnapshotError):
            return None
        return None if seconds is None else int(seconds)

    def load(self) -> PipelineSnapshot:
        """Return the snapshot at hand. Raises SnapshotError."""
        try:
            with self._path.open("rb") as file:
                return _read(file)
        except FileNotFoundError:
            raise SnapshotError("there is none yet") from None
        except OSError as error:
            raise SnapshotError(error.strerror or str(error)) from error

    def write(self, snapshot: PipelineSnapshot) -> None:
        """Write a snapshot in this thread. Raises OSError."""
        self.wait()
        segments.rewrite(self._path, _parts(snapshot))

    def fork(self, snapshot: PipelineSnapshot) -> None:
        """Have a child write the snapshot, which may change as soon as this returns."""
        with warnings.catch_warnings():
            # From 3.12 on Python warns of threads; this child takes no lock that they may hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _write_and_exit(self._path, snapshot)
        self._child = child

    def wait(self, seconds: float = _CHILD_SECONDS) -> None:
        """Wait for a child that is still writing; one that does not end in time is killed."""
        child, end = self._child, time.monotonic() + seconds
        if child is None:
            return
        with contextlib.suppress(ChildProcessError):
            while self._running():
                if time.monotonic() > end:
                    _LOG.error("the writer of a snapshot hangs and is killed")
                    os.kill(child, signal.SIGKILL)
                    end = math.inf
                time.sleep(0.01)


def _write_and_exit(path: Path, snapshot: PipelineSnapshot) -> None:
    status = 1
    try:
        # The journal's lock and the sockets are the parent's: a child that outlived it must not
        # keep the next collector from starting.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.nice(_NICE)
        gc.disable()  # which would touch, and so copy, every page
        segments.rewrite(path, _parts(snapshot))
        status = 0
    finally:
        os._exit(status)


def _parts(snapshot: PipelineSnapshot) -> list[bytes | memoryview]:
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(snapshot, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    check = zlib.crc32(stream)
    for part in raw:
        check = zlib.crc32(part, check)
    header = {
        "format": _FORMAT,
        "code": fingerprint(),
        "offset": snapshot.offset,
        "evaluated": snapshot.moment.evaluated,
        "lengths": [len(stream), *(part.nbytes for part in raw)],
        "crc32": check,
    }
    return [json.dumps(header).encode() + b"\n", stream, *raw]


def _header(file: IO[bytes]) -> dict[str, Any]:
    line = file.readline()
    try:
        header = json.loads(line)
    except ValueError:
        raise SnapshotError("it is damaged") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise SnapshotError("it is of another format")
    if header["code"] != fingerprint():
        raise SnapshotError("it was written by another version of rankscope")
    return header


def _read(file: IO[bytes]) -> PipelineSnapshot:
    header = _header(file)
    parts: list[NDArray[np.uint8]] = []
    check = 0
    for length in header["lengths"]:
        part = np.zeros(length, np.uint8)
        check = _fill(file, part, check)
        parts.append(part)
    if check != header["crc32"]:
        raise SnapshotError("it is damaged")
    try:
        found = _SnapshotUnpickler(io.BytesIO(parts[0].data), buffers=parts[1:]).load()
    except Exception as error:
        raise SnapshotError(f"it cannot be read: {error!r}") from error
    if not isinstance(found, PipelineSnapshot):
        raise SnapshotError("it is not a snapshot")
    return found


def _fill(file: IO[bytes], part: NDArray[np.uint8], check: int) -> int:
    """Read a part; return the checksum up to its end. Raises SnapshotError where the file ends.

    Arrays have room that was never written to, of which the kernel gives a process no memory before
    it is: what is all zeros is left as it is.
    """
    for begin in range(0, len(part), _PIECE_BYTES):
        here = part[begin : begin + _PIECE_BYTES]
        piece = file.read(len(here))
        if len(piece) != len(here):
            raise SnapshotError("it is cut off")
        check = zlib.crc32(piece, check)
        if not _ZEROS.startswith(piece):
            here[:] = np.frombuffer(piece, np.uint8)
    return check


class _SnapshotUnpickler(pickle.Unpickler):
    """Makes our own classes, numpy's arrays and plain containers, and nothing else."""

    _NUMPY = frozenset(("_reconstruct", "_frombuffer", "scalar", "ndarray", "dtype"))
    _PLAIN = frozenset(
        (
            ("builtins", "set"),
            ("builtins", "frozenset"),
            ("builtins", "bytearray"),
            ("builtins", "complex"),
            ("builtins", "slice"),
            ("builtins", "range"),
            ("collections", "deque"),
            ("collections", "OrderedDict"),
            ("collections", "defaultdict"),
            ("collections", "Counter"),
            ("builtins", "list"),
            ("builtins", "dict"),
            ("builtins", "int"),
            ("builtins", "float"),
            ("array", "array"),
            ("array", "_array_reconstructor"),
        )
    )

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in self._PLAIN:
            return super().find_class(module, name)
        if module.startswith("numpy.") or module == "numpy":
            if name in self._NUMPY:
                return super().find_class(module, name)
        elif module.startswith("rankscope.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a snapshot")


@cache
def fingerprint() -> str:
    """Return what tells this code, and the interpreter that runs it, from any other."""
    digest = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    here = Path(__file__).resolve().parents[2]
    for package in _PACKAGES:
        for file in sorted((here / package).rglob("*")):
            if file.suffix in (".py", ".toml", ".json"):
                digest.update(f"{file.relative_to(here)}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()
