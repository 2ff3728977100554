"""Archives as they are attached to tickets, and single files that were compressed.

Links, devices and names that lead out of an archive are left out; a torn one gives what was whole.
"""

import bz2
import calendar
import codecs
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from .packing import PackedKind
from .unpacking import UnpackBudget, dated

_SUFFIXES = {".gz": "", ".bz2": "", ".xz": "", ".zst": "", ".tgz": ".tar", ".tbz2": ".tar",
             ".txz": ".tar"}  # fmt: skip
_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, struct.error, ValueError,
    LookupError, OverflowError, RuntimeError,
)  # fmt: skip
"""What the standard library raises for archives that are no more what they were."""

_MOST_ZSTD = 512 << 20
"""Bytes of one zstd file: it is unpacked in memory."""
_MOST_NAME = 300

Fresh = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """A file of an archive; `path` None: it was left out. `lacks` says why, or what of it lacks."""

    name: str
    path: Path | None
    lacks: str = ""


def unpack(
    packed: PackedKind, path: Path, name: str, fresh: Fresh, budget: UnpackBudget
) -> Iterator[UnpackedFile]:
    """Yield the files in an archive, or the one that was compressed, within the budget.

    `fresh` gives a path to write to. Nothing is raised for what an archive holds.
    """
    if packed == "tar":
        members = _tar(path, name, fresh, budget)
    elif packed == "zip":
        members = _zip(path, name, fresh, budget)
    else:
        members = _single(packed, path, name, fresh, budget)
    try:
        yield from members
    except _DAMAGED as error:
        yield UnpackedFile(name, None, f"{packed}: cut off or damaged ({error})")


def _single(
    packed: PackedKind, path: Path, name: str, fresh: Fresh, budget: UnpackBudget
) -> Iterator[UnpackedFile]:
    inner = PurePosixPath(name)
    if inner.suffix in _SUFFIXES:
        inner = inner.with_suffix(_SUFFIXES[inner.suffix])
    status = path.stat()
    to = fresh(inner.name)
    if packed == "zstd":
        lacks = _zstd(path, to, budget)
    else:
        with path.open("rb") as opened:
            lacks = budget.copy(_reading(packed, opened), to, status.st_size)
    if lacks and not to.stat().st_size:
        yield UnpackedFile(name, None, f"{packed}: {lacks}")
        return
    dated(to, status.st_mtime)
    yield UnpackedFile(str(inner), to, lacks)


def _reading(packed: PackedKind, opened: BinaryIO) -> Callable[[int], bytes]:
    if packed == "gzip":
        return gzip.GzipFile(fileobj=opened).read1
    if packed == "bzip2":
        return bz2.BZ2File(opened).read1
    if packed == "xz":
        return lzma.LZMAFile(opened).read1
    return _WideText(opened).read


class _WideText:
    """Text of two bytes a character, as PowerShell writes what is redirected, as UTF-8."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, none at the end."""
        data = self._opened.read(size)
        return self._decoder.decode(data, final=not data).encode("utf-8", "replace")


def _zstd(path: Path, to: Path, budget: UnpackBudget) -> str:
    import cramjam  # noqa: PLC0415  most archives are others

    held = bytearray(min(_MOST_ZSTD, budget.left))
    try:
        size = cramjam.zstd.decompress_into(path.read_bytes(), held)
    except cramjam.DecompressionError as error:
        to.touch()
        return f"damaged, or more than {len(held)} bytes ({error}): unpack it with zstd -d"
    to.write_bytes(memoryview(held)[:size])
    budget.left -= size
    return ""


def _tar(path: Path, name: str, fresh: Fresh, budget: UnpackBudget) -> Iterator[UnpackedFile]:
    with tarfile.open(path, "r:") as archive:
        for member in archive:
            shown = f"{name}/{_harmless(member.name)}"
            if member.isdir():
                continue
            if not member.isreg():
                yield UnpackedFile(shown, None, "a link or a device: not followed")
                continue
            if reason := _refused(member.name, budget):
                yield UnpackedFile(shown, None, reason)
                continue
            stream = archive.extractfile(member)
            to = fresh(PurePosixPath(member.name).name)
            lacks = "" if stream is None else budget.copy(stream.read, to)
            if not lacks and to.stat().st_size < member.size:
                lacks = "the archive is cut off"
            dated(to, float(member.mtime))
            yield UnpackedFile(shown, to, lacks)


def _zip(path: Path, name: str, fresh: Fresh, budget: UnpackBudget) -> Iterator[UnpackedFile]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            shown = f"{name}/{_harmless(member.filename)}"
            if member.is_dir():
                continue
            if member.external_attr >> 28 not in (0, 8):
                yield UnpackedFile(shown, None, "a link or a device: not followed")
                continue
            if member.flag_bits & 1:
                yield UnpackedFile(shown, None, "it is encrypted")
                continue
            if reason := _refused(member.filename, budget):
                yield UnpackedFile(shown, None, reason)
                continue
            to = fresh(PurePosixPath(member.filename).name)
            try:
                with archive.open(member) as stream:
                    lacks = budget.copy(stream.read, to, member.compress_size)
            except _DAMAGED as error:
                yield UnpackedFile(shown, None, f"cannot be unpacked: {error}")
                continue
            dated(to, _zip_time(member.date_time))
            yield UnpackedFile(shown, to, lacks)


def _refused(name: str, budget: UnpackBudget) -> str:
    if ".." in PurePosixPath(name.replace("\\", "/")).parts:
        return "its name leads out of the archive"
    return "" if budget.another() else "too many files"


def _harmless(name: str) -> str:
    """Return a member's name as a report shows it, below the archive's."""
    return name.replace("\\", "/").lstrip("/")[-_MOST_NAME:] or "?"


def _zip_time(date_time: tuple[int, ...]) -> float:
    """Return when a member was written; zip says that without a zone."""
    return float(calendar.timegm((*date_time, 0, 0, 0)))
