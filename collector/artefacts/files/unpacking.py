"""How much may be unpacked: files, bytes, and how many times what was packed."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 1 << 20
_TIMES = 1000
"""Logs pack to a fiftieth, a log of one line to a thousandth; what unpacks to more is a trap."""
_ANY_TIMES = 64 << 20
"""Bytes of one file that may come of however few."""


@dataclass(slots=True)
class UnpackBudget:
    """What is left of both bounds, for all archives together."""

    files: int
    left: int

    def copy(self, read: Callable[[int], bytes], to: Path, packed: int | None = None) -> str:
        """Copy what `read` gives into a file; return why the rest lacks, "" where nothing does.

        read: returns up to so many bytes at once, as `read1` of streams does, so that nothing is
        lost before a tear. packed: how many bytes it was packed in.
        """
        most = None if packed is None else max(_ANY_TIMES, _TIMES * packed)
        size = 0
        with to.open("wb") as out:
            while True:
                try:
                    block = read(_BLOCK)
                except EOFError:
                    return f"it is cut off after {shown(size)}"
                except Exception as error:  # noqa: BLE001  of any decompressor: zlib, lzma, OSError
                    return f"it is damaged after {shown(size)} ({error})"
                if not block:
                    return ""
                block = block[: self.left]
                out.write(block)
                size += len(block)
                self.left -= len(block)
                if not self.left:
                    return f"too large: only {shown(size)} of it were read"
                if most is not None and size > most:
                    return (
                        f"it unpacks to more than {_TIMES} times its size; {shown(size)} were read"
                    )

    def another(self) -> bool:
        """Take one more file; return whether it may be."""
        self.files -= 1
        return self.files >= 0


def dated(path: Path, at: float) -> None:
    """Give a file the time that its archive says: it tells when the job was over."""
    if 0 < at < 1 << 32:
        os.utime(path, (at, at))


def shown(size: int) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("bytes", "KB", "MB"):
        if size < 10_000:
            return f"{size} {unit}"
        size //= 1000
    return f"{size} GB"
