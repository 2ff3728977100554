"""Which kind each file of a folder is, by what it holds, and the reader that takes it."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from pathlib import Path

from ...formats.nccl import inspector
from ...formats.nccl import ras as ras_format
from ...vocabulary.samples import TelemetryResource
from ..recordings.otlp_lines import RecordingError
from . import inputs, logs, nccl, ras, recorders
from .found import ArtefactContents

_HEAD = 4096


def gather(
    paths: Sequence[Path], resource: TelemetryResource, *, zone: tzinfo | None = None
) -> ArtefactContents:
    """Return the telemetry of every file: in folders and archives, single ones, standard input.

    `zone` is that of times in logs without one, None: the machine's. Raises RecordingError where
    there is nothing that can be read.
    """
    found = ArtefactContents()
    with inputs.opened(paths, found) as files:
        _read(files, resource, found, zone)
    if not found.read:
        raise RecordingError(_nothing_read(paths, found))
    return found


def _read(
    files: Mapping[str, Path],
    resource: TelemetryResource,
    found: ArtefactContents,
    zone: tzinfo | None,
) -> None:
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
    # What begins with an answer of RAS may go on as a log.
    written = {**of_kind["log"], **of_kind["ras"]}
    lines = logs.gather(written, dumps.groups, found, empty=empty, zone=zone, known=dumps.last)
    recorders.add(dumps, lines.endings, resource, found)
    ras.read(
        of_kind["ras"],
        of_kind["log"],
        zone=zone,
        hosts={rank: one.host for rank, one in lines.processes.items() if one.host},
        pids={rank: one.pid for rank, one in lines.processes.items() if one.pid is not None},
        resource=resource,
        found=found,
    )
    nccl.read_inspector(of_kind["inspector"], resource, found)
    logs.add(lines, resource, found)


def _nothing_read(paths: Sequence[Path], found: ArtefactContents) -> str:
    reasons = "; ".join(f"{name}: {why}" for name, why in list(found.unread.items())[:5])
    named = ", ".join(map(str, paths[:3])) + (", ..." if len(paths) > 3 else "")
    return f"{named}: nothing in it can be read: {reasons or 'it is empty'}"


def _kind(head: bytes) -> str:
    """Return which kind a file that begins so is, or why it is none."""
    if not head:
        return "empty"
    if ras_format.is_answer(head):
        return "ras"
    if inspector.is_record(head):
        return "inspector"
    if recorders.is_dump(head):
        return "dump"
    return "log" if logs.is_text(head) else "no log, dump or answer that is known"
