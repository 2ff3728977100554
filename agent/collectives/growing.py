"""Files of a folder that other processes append lines to: read on from where each was left.

A file that was there before is read from near its end; one that grows faster than it is read loses
its older part, and what is lost is counted.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..training_logs.tail import FileTail

_BACK = 1 << 20
_PIECE = 1 << 20
_LONGEST = 256 << 10
"""A line of Inspector with the events of each channel has some 20 KB."""
_WAITING = 32 << 20
_MOST_FILES = 256
_MOST_NAMES = 4096


@dataclass(slots=True)
class _OpenFile:
    tail: FileTail
    rest: bytes = b""
    skipping: bool = False
    """The next bytes are inside a line of which the beginning was not kept."""


class GrowingFiles:
    """The files of one folder, for one thread. `lost` counts bytes left out, `refused` files."""

    def __init__(self, folder: Path, *, owner: int | None) -> None:
        """Take a folder; owner: whose files alone are read, None: anybody's."""
        self.folder = folder
        self.lost = 0
        self.refused = 0
        self._owner = owner
        self._files: dict[tuple[int, int], _OpenFile] = {}
        self._first = True

    def lines(self, room: int) -> Iterator[bytes]:
        """Yield the whole lines that were written since, of at most so many bytes of files."""
        self._find()
        waiting = {inode: one.tail.grown() for inode, one in self._files.items()}
        growing = [inode for inode, count in waiting.items() if count]
        for position, inode in enumerate(growing):
            one, count = self._files[inode], waiting[inode]
            if count > _WAITING:
                self.lost += one.tail.skip_to(one.tail.position + count - _BACK)
                one.rest, one.skipping, count = b"", True, _BACK
            share = min(count, max(room // (len(growing) - position), 1))
            room -= share
            while share > 0 and (data := one.tail.read(min(share, _PIECE))):
                share -= len(data)
                yield from self._cut(one, data)

    def close(self) -> None:
        for one in self._files.values():
            one.tail.close()
        self._files.clear()

    def _cut(self, one: _OpenFile, data: bytes) -> Iterator[bytes]:
        *whole, rest = (one.rest + data).split(b"\n")
        if one.skipping and whole:
            self.lost += len(whole[0])
            del whole[0]
            one.skipping = False
        if len(rest) > _LONGEST or one.skipping:
            self.lost += len(rest)
            rest, one.skipping = b"", True
        one.rest = rest
        for line in whole:
            if len(line) > _LONGEST:
                self.lost += len(line)
            else:
                yield line

    def _find(self) -> None:
        """Open files that are new; leave those that are gone and read to their end."""
        self.refused = 0
        found: set[tuple[int, int]] = set()
        try:
            with os.scandir(self.folder) as entries:
                for number, entry in enumerate(entries):
                    if number >= _MOST_NAMES:
                        break
                    inode = self._opened(entry)
                    if inode is not None:
                        found.add(inode)
        except OSError:
            found = set()
        for inode in [inode for inode in self._files if inode not in found]:
            if not self._files[inode].tail.grown():
                self._files.pop(inode).tail.close()
        self._first = False

    def _opened(self, entry: os.DirEntry[str]) -> tuple[int, int] | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        inode = (status.st_dev, status.st_ino)
        if inode in self._files:
            return inode
        if self._owner is not None and status.st_uid != self._owner:
            self.refused += 1
            return None
        if len(self._files) >= _MOST_FILES:
            self.refused += 1
            return None
        position = max(0, status.st_size - _BACK) if self._first else 0
        try:
            tail = FileTail(entry.path, position=position)
        except OSError:
            self.refused += 1
            return None
        if tail.inode != inode:  # another file since it was looked at
            tail.close()
            return None
        self._files[inode] = _OpenFile(tail, skipping=position > 0)
        return inode
