"""What a user names, as files to read: folders, single files, standard input, archives of them.

Archives and compressed files are unpacked into a private folder that is removed afterwards; names
of members are shown and never become paths.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ...recordings.otlp_lines import RecordingError
from ..found import ArtefactContents
from . import packing
from .unpacking import UnpackBudget

STANDARD_INPUT = Path("-")
MOST_FILES = 20_000
_MOST_NAME = 200
"""Characters of a path that an error quotes."""
_DEEPEST = 4
"""Layers of a file: a single log that was compressed, in an archive, which was compressed, ..."""
_MOST_BYTES = 16 << 30
_FREE_SHARE = 0.5
"""Of what is free where it is unpacked."""


@contextmanager
def opened(
    paths: Sequence[Path], found: ArtefactContents
) -> Generator[dict[str, Path], None, None]:
    """Give the files to read by the names that a report calls them; they are gone afterwards.

    What is left out is noted in `found`. Raises RecordingError for a path that is not there.
    """
    with tempfile.TemporaryDirectory(prefix="rankscope-diagnose-") as scratch:
        free = shutil.disk_usage(scratch).free * _FREE_SHARE
        budget = UnpackBudget(MOST_FILES, min(_MOST_BYTES, int(free)))
        files = _NamedFiles(Path(scratch), found, budget)
        for path in paths:
            above = "" if len(paths) == 1 or path == STANDARD_INPUT else f"{path.name}/"
            if path == STANDARD_INPUT:
                files.take("standard input", files.received(sys.stdin.buffer.read))
            else:
                for name, file in _below(path, above, found).items():
                    files.take(name, file)
        yield files.named


@dataclass(slots=True)
class _NamedFiles:
    """The files by name; unpacks what is an archive."""

    scratch: Path
    found: ArtefactContents
    budget: UnpackBudget
    named: dict[str, Path] = field(default_factory=dict[str, Path])
    _made: int = 0

    def take(self, name: str, path: Path, depth: int = 0) -> None:
        """Add a file, or what is in it."""
        try:
            with path.open("rb") as opened_file:
                packed = packing.kind(opened_file.read(packing.HEAD))
        except OSError as error:
            self.found.unread[name] = f"cannot be read: {error.strerror}"
            return
        if packed is None:
            self.named[self._free(name)] = path
        elif depth >= _DEEPEST:
            self.found.unread[name] = f"packed more than {_DEEPEST} times over"
        else:
            from . import archives  # noqa: PLC0415  with a module for each way of packing

            unpacked = archives.unpack(packed, path, name, self.fresh, self.budget)
            for member in unpacked:
                if member.path is not None:
                    self.take(member.name, member.path, depth + 1)
                if member.lacks and member.path is None:
                    self.found.unread[member.name] = member.lacks
                elif member.lacks:
                    self.found.missing.append(f"the rest of {member.name}: {member.lacks}")

    def received(self, read: Callable[[int], bytes]) -> Path:
        """Return what comes in as a file."""
        path = self.fresh("stdin.log")
        lacks = self.budget.copy(read, path)
        if lacks:
            self.found.missing.append(f"the rest of standard input: {lacks}")
        return path

    def fresh(self, name: str) -> Path:
        """Return where a file is unpacked to; of its name only harmless characters are kept."""
        self._made += 1
        folder = self.scratch / str(self._made)
        folder.mkdir()
        plain = "".join(one if one.isalnum() or one in "._-" else "_" for one in name[-100:])
        return folder / (plain.strip(".") or "member")

    def _free(self, name: str) -> str:
        """Return a name that no other file has."""
        number, free = 1, name
        while free in self.named:
            number += 1
            free = f"{name} ({number})"
        return free


def _below(path: Path, above: str, found: ArtefactContents) -> dict[str, Path]:
    """Return the files by their name below the folder; what is no file or a link is not read."""
    try:
        if path.is_file():
            return {path.name: path}
        if not path.is_dir():
            raise RecordingError(f"{path}: there is no such file or folder")
    except OSError as error:  # a name that is too long, a folder that may not be entered
        name = str(path)
        shown = name if len(name) <= _MOST_NAME else f"{name[:_MOST_NAME]}..."
        raise RecordingError(f"{shown}: {error.strerror}") from error
    files: dict[str, Path] = {}
    for file in sorted(path.rglob("*")):
        name = above + str(file.relative_to(path))
        if file.is_symlink():
            found.unread[name] = "a link: not followed, since it may lead anywhere"
        elif file.is_file():
            files[name] = file
        elif not file.is_dir():
            found.unread[name] = "neither a file nor a folder"
        if len(files) + len(found.unread) > MOST_FILES:
            raise RecordingError(f"{path}: more than {MOST_FILES} files")
    return files
