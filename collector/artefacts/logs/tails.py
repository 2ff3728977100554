"""The last lines of a log, and their numbers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

_BYTES = 1 << 16
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class LogTail:
    """The whole lines of the last 64 KiB of a log, but for blank ones at its very end."""

    path: Path
    begin: int
    """Bytes before the first of them."""
    lines: tuple[bytes, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return that of a log. Raises OSError."""
        begin = max(0, path.stat().st_size - _BYTES)
        with path.open("rb") as opened:
            opened.seek(begin)
            data = opened.read(_BYTES)
        whole = data.find(b"\n") + 1 if begin else 0
        return cls(path, begin + whole, tuple(data[whole:].rstrip().split(b"\n")))

    def first(self) -> int:
        """Return the number of the first of the lines, from 1; what is before is counted for it.

        Raises OSError.
        """
        count, left = 1, self.begin
        with self.path.open("rb") as opened:
            while left and (block := opened.read(min(_BLOCK, left))):
                count += block.count(b"\n")
                left -= len(block)
        return count
