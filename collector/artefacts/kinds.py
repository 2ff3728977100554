"""Which kind each file of a folder is, by what it holds, and the reader that takes it."""

from datetime import tzinfo
from pathlib import Path

from ...formats.nccl import inspector, ras
from ...vocabulary.samples import TelemetryResource
from ..recordings.otlp_lines import RecordingError
from . import logs, nccl, recorders
from .found import ArtefactContents

_HEAD = 4096
MOST_FILES = 20_000
_MOST_NAME = 200
"""Characters of a path that an error quotes."""


def gather(
    path: Path, resource: TelemetryResource, *, zone: tzinfo | None = None
) -> ArtefactContents:
    """Return the telemetry of every file in a folder, or of one file.

    `zone` is that of times in logs without one, None: the machine's. Raises RecordingError where
    there is nothing that can be read.
    """
    found = ArtefactContents()
    files = _files(path, found)
    empty: list[str] = []
    of_kind: dict[str, dict[str, Path]] = {"dump": {}, "ras": {}, "inspector": {}, "log": {}}
    for name, file in files.items():
        try:
            with file.open("rb") as opened:
                head = opened.read(_HEAD)
        except OSError as error:
            found.unread[name] = f"cannot be read: {error.strerror}"
            continue
        kind = _kind(head)
        if not head:
            empty.append(name)
        if kind in of_kind:
            of_kind[kind][name] = file
        else:
            found.unread[name] = kind
    dumps = recorders.load(of_kind["dump"], found)
    lines = logs.gather(
        of_kind["log"], dumps.groups, found, empty=empty, zone=zone, known=dumps.last
    )
    recorders.add(dumps, lines.endings, resource, found)
    nccl.read_ras(of_kind["ras"], resource, found)
    nccl.read_inspector(of_kind["inspector"], resource, found)
    logs.add(lines, resource, found)
    if not found.read:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(found.unread.items())[:5])
        raise RecordingError(f"{path}: nothing in it can be read: {reasons or 'it is empty'}")
    return found


def _kind(head: bytes) -> str:
    """Return which kind a file that begins so is, or why it is none."""
    if not head:
        return "empty"
    if ras.is_answer(head):
        return "ras"
    if inspector.is_record(head):
        return "inspector"
    if recorders.is_dump(head):
        return "dump"
    return "log" if logs.is_text(head) else "no log, dump or answer that is known"


def _files(path: Path, found: ArtefactContents) -> dict[str, Path]:
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
        name = str(file.relative_to(path))
        if file.is_symlink():
            found.unread[name] = "a link: not followed, since it may lead anywhere"
        elif file.is_file():
            files[name] = file
        elif not file.is_dir():
            found.unread[name] = "neither a file nor a folder"
        if len(files) + len(found.unread) > MOST_FILES:
            raise RecordingError(f"{path}: more than {MOST_FILES} files")
    return files
