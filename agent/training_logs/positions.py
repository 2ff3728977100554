"""How far files were read, kept over restarts of the agent."""

import contextlib
import json
from pathlib import Path
from typing import Any

from ..state import rewrite
from .sources import Inode

_FILE = "training_logs.json"
_MOST = 2048


class FilePositions:
    """Positions by file; for one thread. Without a folder nothing outlives the agent."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / _FILE if folder else None
        self._kept = _load(self._path)
        self._saved = dict(self._kept)

    def of(self, inode: Inode) -> tuple[int, str] | None:
        """Return (position, head) of a file, None where it was never read."""
        return self._kept.get(inode)

    def keep(self, inode: Inode, position: int, head: str) -> None:
        """Note how far a file was read; of too many the ones noted longest ago are forgotten."""
        self._kept.pop(inode, None)
        self._kept[inode] = (position, head)
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def save(self) -> None:
        """Write what changed; a full disk costs the memory over a restart, no more."""
        if self._path is None or self._kept == self._saved:
            return
        rows = [[*inode, position, head] for inode, (position, head) in self._kept.items()]
        with contextlib.suppress(OSError):
            rewrite(self._path, json.dumps({"files": rows}))
            self._saved = dict(self._kept)


def _load(path: Path | None) -> dict[Inode, tuple[int, str]]:
    if path is None:
        return {}
    try:
        document: Any = json.loads(path.read_text(encoding="utf-8"))
        return {
            (int(device), int(number)): (int(position), str(head))
            for device, number, position, head in document["files"]
        }
    except (OSError, ValueError, TypeError, KeyError):
        return {}  # absent, torn or of another version
