"""Which kind each file of a folder is, by what it holds, and the reader that takes it."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path

from ...formats import check_reports
from ...formats.flight_recorder import debug_server as server_format
from ...formats.nccl import inspector
from ...formats.nccl import ras as ras_format
from ...formats.training_logs import error_files as error_format
from ...vocabulary.samples import TelemetryResource
from ..recordings.otlp_lines import RecordingError
from .collectives import debug_server, nccl, ras, recorders, stacks
from .files import inputs
from .found import ArtefactContents
from .job.endings import UNDATED
from .logs import (
    error_files,
    event_files,
    gathering,
    held_memory,
    interrupts,
    last_words,
    lost_time,
    nonfinite_rows,
    open_ends,
    paces,
    pasted_readings,
    profiles,
    resumed_losses,
    settling,
    standing_losses,
    survival,
)
from .logs.contents import LogContents

_HEAD = 4096
_KINDS = (
    "dump", "page", "stacks", "ras", "inspector", "exporter", "error", "check", "events", "log",
)  # fmt: skip
_SERIES = re.compile(
    rb"^(?:[a-zA-Z_:][a-zA-Z0-9_:]*\{[^\n]*=\"[^\n]*\} [-+0-9.eE]+\s*$|# TYPE )", re.MULTILINE
)
"""What stands on an exporter's page: series with labels, and types; hardly on a line of a log."""


def gather(
    paths: Sequence[Path],
    resource: TelemetryResource,
    *,
    zone: tzinfo | None = None,
    reading: Callable[[str], None] | None = None,
) -> ArtefactContents:
    """Return the telemetry of every file: in folders and archives, single ones, standard input.

    `zone` is that of times in logs without one, None: the machine's; `reading` gets the name of
    each log before it is read. Raises RecordingError where there is nothing that can be read.
    """
    found = ArtefactContents()
    if reading is not None:
        found.reading = reading
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
    of_kind, empty = _sorted(files, found)
    dumps = recorders.load(of_kind["dump"], of_kind["page"], found)
    # What begins with an answer of RAS may go on as a log.
    written = {**of_kind["log"], **of_kind["ras"]}
    lines = gathering.gather(written, dumps.groups, found, empty=empty, zone=zone, known=dumps.last)
    error_files.add(of_kind["error"], lines, found)
    if of_kind["events"]:
        event_files.add(of_kind["events"], lines, found)
    recorders.add(dumps, lines.endings, resource, found)
    dated = [sample.at for _, sample in lines.samples]
    stepped = math.inf if any(at < UNDATED for at in dated) else max(dated, default=None)
    answers = ras.read(
        of_kind["ras"],
        {name: path for name, path in of_kind["log"].items() if name in lines.answering},
        zone=zone,
        hosts={rank: one.host for rank, one in lines.processes.items() if one.host},
        pids={rank: one.pid for rank, one in lines.processes.items() if one.pid is not None},
        stepped=stepped,
        resource=resource,
        found=found,
    )
    for name, ranks in ras.nodes_of(answers, lines.hang.files).items():
        lines.hang.files[name] |= ranks
    stacked = {name: path for name, path in of_kind["log"].items() if name in lines.stacked}
    stood = stacks.read(stacked, of_kind["log"], lines.whose, found, went_on=survival.went_on)
    served = debug_server.add_stacks(of_kind["stacks"], resource, found, zone=zone, stepped=stepped)
    given_up = interrupts.read(of_kind["log"], lines.whose, lines.samples, found)
    for one in (stood, served, given_up.stood):
        lines.hang.stood(one.waiting, one.late, one.apart)
        lines.events += [(rank, "", event) for rank, event in one.events]
    nccl.read_inspector(of_kind["inspector"], resource, found)
    if lines.tabled:
        tabled = {name: written[name] for name in sorted(lines.tabled)}
        _add_tables(tabled, lines, resource, found, zone)
    if exported := of_kind["exporter"]:
        alone = len(exported) == sum(map(len, of_kind.values()))
        _settle_with_pages(exported, lines, resource, found, alone=alone)
    else:
        settling.add(lines, resource, found)
    if of_kind["check"] or lines.checking:
        from .hosts import check_reports as checked  # noqa: PLC0415  most folders hold none

        logs = {name: written[name] for name in sorted(lines.checking)}
        checked.add(of_kind["check"], logs, lines.processes, found)
    short = pasted_readings.read(of_kind["log"], lines.whose, found)
    held_memory.add(short.grown, resource, found)
    lost_time.add(resource, found)
    interrupts.add(given_up, resource, found)
    lost_time.add_read(short.waits, resource, found)
    profiles.add(short.profiled, resource, found)
    standing_losses.add(short.standing, resource, found)
    resumed_losses.add(short.resumed, resource, found)
    nonfinite_rows.add(short.lost, resource, found)
    last_words.add(of_kind["log"], lines.whose, resource, found)
    paces.add(short.slow, resource, found)
    open_ends.add(of_kind["log"], lines.whose, found)


def _sorted(
    files: Mapping[str, Path], found: ArtefactContents
) -> tuple[dict[str, dict[str, Path]], list[str]]:
    """Return the files by kind, and the names of empty ones."""
    empty: list[str] = []
    of_kind: dict[str, dict[str, Path]] = {name: {} for name in _KINDS}
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
    return of_kind, empty


def _add_tables(
    tabled: Mapping[str, Path],
    lines: LogContents,
    resource: TelemetryResource,
    found: ArtefactContents,
    zone: tzinfo | None,
) -> None:
    from .hosts import tables  # noqa: PLC0415  most folders hold none

    job = tables.TableJob(
        lines.processes,
        lines.kernels,
        lines.span(),
        size=max(found.world_size, lines.survey.size),
        alone=not (lines.processes or lines.samples or found.samples),
        zone=zone,
    )
    tables.add(tabled, job, resource, found)


def _settle_with_pages(
    exported: Mapping[str, Path],
    lines: LogContents,
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    alone: bool,
) -> None:
    """Settle what logs say beside pages of exporters, which may name the host of a kernel's log."""
    from .hosts import pages  # noqa: PLC0415  it loads the tables of all vendors

    if not lines.kernels.hosts:
        lines.kernels.hosts |= pages.hosts(exported)
    settling.add(lines, resource, found)
    pages.read(exported, resource, found, alone=alone)


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
    if error_format.is_error_file(head):
        return "error"
    if check_reports.is_report(head):
        return "check"
    if server_format.is_page(head):
        return "page"
    if server_format.is_stacks(head):
        return "stacks"
    if event_files.is_events(head):
        return "events"
    if _is_page(head):
        return "exporter"
    return "log" if gathering.is_text(head) else "no log, dump or answer that is known"


def _is_page(head: bytes) -> bool:
    if _SERIES.search(head) is None:
        return False
    from .hosts import pages  # noqa: PLC0415  as above

    return pages.is_page(head)
