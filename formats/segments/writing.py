"""Appending records: one lock a folder, a new file whenever one is full."""

import contextlib
import errno
import fcntl
import functools
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from .format import MAGIC, SUFFIX, Codec, LockedError, compressor, pack
from .reading import Position, segments, size

LOCK = "lock"


class SegmentWriter:
    """Appends to the segments of one folder; for one thread.

    Raises LockedError when another writer has the folder, OSError when the disk refuses. It never
    appends to a file of an earlier writer: that one's last record may be torn.
    """

    def __init__(
        self, folder: Path, *, segment_bytes: int = 64 << 20, codec: Codec = "zlib"
    ) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._compress = compressor(codec)
        self._file: int | None = None
        self._end = self._synced = 0
        self._lost: OSError | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            # Whoever may read it may hold the lock, and keep the next writer out.
            with contextlib.suppress(PermissionError):  # some file systems have no modes
                os.fchmod(self._lock, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise LockedError(f"{folder}: another process writes here") from None
        existing = segments(folder)
        self._last = max(_last_number(self._lock), int(existing[-1].stem) if existing else 0)

    def append(self, kind: int, at_ns: int, payload: bytes) -> int:
        """Append one record and return the bytes it takes; kept for certain after `sync`.

        `kind` is 0 to 255. After an OSError nothing of the record is in the file.
        """
        codec, stored = self._compress(payload)
        record = pack(kind, codec, at_ns, stored)
        if self._file is not None and self._end + len(record) > self._segment_bytes:
            self._finish()
        if self._file is None:
            self._file = self._begin()
        try:
            _write(self._file, record)
        except OSError:
            # A part of a record in the middle of a file would read as damage.
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)
            raise
        self._end += len(record)
        return len(record)

    def sync(self) -> None:
        """Return once all that was appended since the last `sync` is on the disk.

        Raises OSError otherwise, also where it was an earlier file that could not be made durable
        when it was full; FileNotFoundError where the file was deleted.
        """
        lost, self._lost = self._lost, None
        if lost is not None:
            raise lost
        if self._file is not None:
            if not os.fstat(self._file).st_nlink:
                raise FileNotFoundError(errno.ENOENT, "deleted while it was written", self.writing)
            os.fdatasync(self._file)
            self._synced = self._end

    def check(self) -> None:
        """Raise FileNotFoundError where the folder, or the file that is written, has gone.

        What is appended to a file without a name is lost with it.
        """
        if self._file is None:
            self._folder.stat()
        elif not os.path.samestat(os.fstat(self._file), (self._folder / _name(self._last)).stat()):
            raise FileNotFoundError(errno.ENOENT, "another file has its name", _name(self._last))

    def drop_unsynced(self) -> None:
        """Cut off what was appended after the last `sync` that succeeded. Raises OSError.

        After a failed `sync`: nobody was promised those records, and a reader is not to meet them.
        """
        if self._file is not None and self._end > self._synced:
            os.ftruncate(self._file, self._synced)
            os.lseek(self._file, self._synced, os.SEEK_SET)
            self._end = self._synced

    def close(self) -> None:
        """Sync, and let go of file and folder."""
        try:
            self._finish()
        finally:
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    @property
    def position(self) -> Position:
        """Return where the next reader goes on that has read all that was appended."""
        return _name(self._last), self._end

    @property
    def size(self) -> int:
        """Return the bytes that all segments of the folder take."""
        return size(self._folder)

    @property
    def left(self) -> int:
        """Return the bytes that still fit into the open file; 0 when the next record begins one."""
        return 0 if self._file is None else self._segment_bytes - self._end

    @property
    def writing(self) -> str | None:
        """Return the name of the file that is open for appending, which nobody may delete."""
        return None if self._file is None else _name(self._last)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self) -> int:
        path = self._folder / _name(self._last + 1)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._last += 1
        try:
            _write(file, MAGIC)
            # Numbers never come again, though all files may be deleted: a reader that remembers
            # its position would pass over a file that is named like an old one.
            os.pwrite(self._lock, f"{self._last}\n".encode(), 0)
            # The file's name must outlive a power cut as well as its bytes.
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError:
            os.close(file)
            path.unlink(missing_ok=True)
            raise
        self._end = self._synced = len(MAGIC)
        return file

    def _finish(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            try:
                os.fdatasync(file)
            except OSError as error:
                self._lost = error
                raise
            finally:
                os.close(file)


@functools.lru_cache(maxsize=16)
def _name(number: int) -> str:
    return f"{number:016d}{SUFFIX}"


def _last_number(lock: int) -> int:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else 0


def _write(file: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(file, memoryview(data)[written:])
