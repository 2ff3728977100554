"""All logs of a job: who wrote each, and what their lines report."""

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from pathlib import Path

from ..found import ArtefactContents
from ..hosts import kernel_logs
from ..job import log_names, size
from ..job.nccl_ranks import NcclProcesses
from ..job.startup import StartUp, any_stepped, stepped
from ..launches import controllers
from ..walk.telling_lines import TellingLines
from . import (
    awaited_peers,
    communicator_ranks,
    given_up_transfers,
    renumbered,
    unplaced,
    worded_ends,
)
from .contents import LogContents
from .one_log import LogReading
from .unknown_lines import of_file

_CONTROLS = bytes(one for one in range(32) if one not in b"\t\n\r\x08\x1b\f")
_TEXT_SHARE = 0.98


def is_text(head: bytes) -> bool:
    """Tell whether a file that begins so may be a log.

    One whose host lost its power has holes full of NULs, and terminals leave control codes.
    """
    written = head.replace(b"\0", b"")
    return len(written.translate(None, _CONTROLS)) >= _TEXT_SHARE * len(written) > 0


def gather(
    files: Mapping[str, Path],
    groups: Mapping[int, Mapping[str, str]],
    found: ArtefactContents,
    *,
    empty: Iterable[str] = (),
    zone: tzinfo | None,
    known: float | None = None,
) -> LogContents:
    """Return what the lines of all logs of a job report, given by name; `empty` are files of none.

    `groups` holds by rank the names of its groups by their description, where dumps tell them.
    `zone` is that of times without one, None: the machine's. `known` is when the job ran, where
    dumps tell it, s since the epoch.
    """
    gathered = LogContents(zone)
    empty = list(empty)
    ranks = log_names.ranks_of([*empty, *files])
    said: dict[str, int] = {}
    telling: dict[str, TellingLines] = {}
    for name in empty:
        gathered.has_log(ranks.get(name))
    gathered.survey = size.survey(files, zone, known)
    gathered.hang.files.update(gathered.survey.ranks)
    gathered.whose = {
        name: log_names.checked(name, ranks.get(name), gathered.survey.ranks.get(name, set()))
        for name in files
    }
    for name, path in files.items():
        rank = gathered.whose.get(name)
        gathered.has_log(rank)
        known_groups = {} if rank is None else groups.get(rank, {})
        one = LogReading(name, path, known_groups, gathered, found)
        try:
            said[name] = one.read()
        except OSError as error:
            found.unread[name] = f"cannot be read: {error.strerror}"
        else:
            telling[name] = one.telling
    gathered.launches.reports = controllers.own(gathered.launches.reports, [*empty, *files])
    communicator_ranks.place(gathered)
    if unplaced.of_devices(gathered.events):
        _place_by_nccl(gathered, (files[name] for name in said))
    gathered.succession.apply(gathered.samples, gathered.events)
    renumbered.apply(gathered.samples, gathered.events)
    if known is None:
        gathered.own_ends.apply(gathered.samples, gathered.events)
    gathered.kernels, told = kernel_logs.gather(telling, gathered.span(), zone=zone)
    for name, own in said.items():
        lines = own + told.get(name, 0)
        if lines:
            found.read[name] = f"log, {lines} lines of which say something"
        else:
            found.unread[name] = "no line in it is of a form or a fault that is known"
            found.unread[name] += of_file(found.unknown, name)
    if gathered.start.failed(()):
        if any_stepped(files.values()):
            gathered.start = StartUp()  # who gave up a store or a group did so while it trained
    elif not stepped(sample for _, sample in gathered.samples):
        awaited_peers.add(gathered, files, found)
    given_up_transfers.add(gathered, files)
    worded_ends.add(gathered, files, found)
    return gathered


def _place_by_nccl(gathered: LogContents, files: Iterable[Path]) -> None:
    """Give lines of NCCL about devices, in logs of several ranks, the ranks that wrote them."""
    processes = NcclProcesses()
    try:
        processes.read(files)
    except OSError:
        return  # said where it was read

    def wrote(text: str) -> int | None:
        who = processes.wrote(text)
        if who is None:
            return None
        rank, host, pid = who
        process = gathered.process(rank)
        process.host, process.pid = process.host or host, process.pid or pid
        return rank

    gathered.events = unplaced.written(gathered.events, wrote)
