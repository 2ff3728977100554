"""Flight Recorder dumps as telemetry: what the probe would have sent while the job lived."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ....formats import flight_recorder
from ....formats.flight_recorder import DumpLedger, RecorderDump, layout
from ....vocabulary.groups import ProcessGroup
from ....vocabulary.samples import Event, Sample, Scalar, TelemetryResource, attributes
from ..found import ArtefactContents
from ..job.endings import RankEndings
from . import debug_server, differing

_LAST_NUMBER = re.compile(r"(\d+)(?:\.[A-Za-z]+)?$")
_SHORTEST, _LONGEST = 60.0, 3600.0
"""Seconds from the last operation to the dump, where neither the file nor a time-out says it."""

_LOST_SECONDS = 1.0
"""What a rank takes to dump once it has lost its peers."""


def is_dump(head: bytes) -> bool:
    """Tell whether a file that begins so may be a dump."""
    return head.startswith(b"\x80") or (head.lstrip()[:1] == b"{" and b'"pg_' in head)


def rank_of(name: str) -> int | None:
    """Return the rank that a dump is of: torch writes its file as prefix and rank."""
    match = _LAST_NUMBER.search(name)
    return int(match[1]) if match is not None and len(match[1]) <= 7 else None


@dataclass(frozen=True, slots=True)
class JobDumps:
    """The dumps of a job by rank, the files that they are in, and when the newest was written."""

    of_rank: Mapping[int, RecorderDump]
    files: Mapping[int, str]
    written: float

    @property
    def last(self) -> float | None:
        """Return when an operation was last enqueued or completed, None where no dump tells."""
        last = DumpLedger(self.of_rank).last
        return last if math.isfinite(last) else None

    @property
    def groups(self) -> Mapping[int, Mapping[str, str]]:
        """Return by rank the names of its groups by their description."""
        return {
            rank: {group.desc: group.name for group in dump.groups}
            for rank, dump in self.of_rank.items()
        }


def load(files: Mapping[str, Path], pages: Mapping[str, Path], found: ArtefactContents) -> JobDumps:
    """Return all dumps of a job, given by name; note in `found` which could be read.

    `pages` are of torch's debug server, with the lists of all ranks: ranks that left no dump.
    """
    dumps: dict[int, RecorderDump] = {}
    of_rank: dict[int, str] = {}
    written = -math.inf
    for name, path in files.items():
        rank = rank_of(name)
        if rank is None or rank in dumps:
            found.unread[name] = (
                "a Flight Recorder dump whose name does not end with a rank"
                if rank is None
                else f"a second Flight Recorder dump of rank {rank}"
            )
            continue
        try:
            dumps[rank] = flight_recorder.read(path.read_bytes())
        except (flight_recorder.DumpError, OSError) as error:
            found.unread[name] = f"Flight Recorder dump: {error}"
            continue
        of_rank[rank] = name
        written = max(written, path.stat().st_mtime)
        found.read[name] = f"Flight Recorder dump of rank {rank}"
    for name, path in pages.items():
        lists = debug_server.read_page(path)
        for rank, body in lists.items():
            try:
                dumps.setdefault(rank, flight_recorder.read(body))
            except flight_recorder.DumpError as error:
                found.missing.append(f"the list of rank {rank} in {name}: {error}")
                continue
            of_rank.setdefault(rank, name)
        written = max(written, path.stat().st_mtime)
        found.read[name] = f"Flight Recorders of {len(lists)} ranks, by torch's debug server"
    return JobDumps(flight_recorder.settled(dumps), of_rank, written)


def add(
    dumps: JobDumps, endings: RankEndings, resource: TelemetryResource, found: ArtefactContents
) -> None:
    """Add the telemetry of all dumps to what was found.

    A rank whose last collective failed by its log has not completed it: gloo's recorder ends an
    operation that failed as it ends one that succeeded.
    """
    if dumps.of_rank:
        endings.dumped(dumps.of_rank.keys())
        ledger = DumpLedger({
            rank: dump.interrupted() if rank in endings.failed else dump
            for rank, dump in dumps.of_rank.items()
        })  # fmt: skip
        _add(ledger, dumps, endings, resource, found)


def _add(
    ledger: DumpLedger,
    dumps: JobDumps,
    endings: RankEndings,
    resource: TelemetryResource,
    found: ArtefactContents,
) -> None:
    last = ledger.last
    if not math.isfinite(last):
        last = dumps.written - _SHORTEST
    endings.stood = last
    if endings.failed:
        # A rank that lost its peers did not wait for its time-out.
        at = last + max(endings.waited, _LOST_SECONDS)
    elif ledger.idle:
        at = last + _LOST_SECONDS  # nobody waits in one: how long since, no dump tells
    else:
        at = _dumped(last, ledger.timeout, dumps.written)
    along = layout.dimensions(ledger.groups)
    found.layout = {name: [_spelled(group) for group in groups] for name, groups in along.items()}
    found.world_size = max(found.world_size, len(ledger.ranks))
    found.until = max(found.until or at, at)
    for group in ledger.groups:
        found.samples.append((resource, group.info(last - 1.0)))
    for rank in ledger.ranks:
        # Who left no dump is known from its groups: it was there.
        labels: dict[str, Scalar | None] = {
            "rank": rank,
            "world_size": len(ledger.ranks),
            **layout.coordinates(along, rank),
        }
        # Only a process that lives writes a dump.
        for moment in (last - 1.0, at) if rank in ledger.dumps else (last - 1.0,):
            info = Sample("training.rank.info", 1.0, moment, attributes(labels))
            found.samples.append((resource, info))
    for rank in ledger.dumps:
        found.samples += [(resource, sample) for sample in ledger.progress(rank)]
        # What did not complete soon after the last operation began never did.
        for moment in (last + 1.0, at):
            found.samples += [(resource, sample) for sample in ledger.counters(rank, moment)]
    found.samples += [(resource, sample) for sample in ledger.launches(at)]
    found.events += _timed_out(ledger, dumps.files, at, resource)
    found.events += _apart(ledger, at, resource)
    if ledger.absent:
        absent = ", ".join(map(str, ledger.absent[:16]))
        found.missing.append(f"no Flight Recorder dump of ranks {absent}, which groups name")


def _dumped(last: float, timeout: float, written: float) -> float:
    """Return when the dumps were made: on a time-out, or when a file was written.

    A copied file is younger than its dump, so the time-out counts where both are known.
    """
    if timeout > 0:
        return min(written, last + timeout) if written > last else last + timeout
    return min(max(written, last + _SHORTEST), last + _LONGEST)


def _timed_out(
    ledger: DumpLedger, files: Mapping[int, str], at: float, resource: TelemetryResource
) -> list[Event]:
    """Return the operations that were open for their whole time-out when the dump was made."""
    found: list[Event] = []
    for rank, entry, waited in ledger.timed_out(at):
        pairs: dict[str, Scalar] = {
            "signature": "collective.timeout",
            "role": "cascade",
            "rank": rank,
            "text": f"collective operation timeout: {entry.op} {entry.sequence} of "
            f"{entry.group.desc} open for {waited:.0f} s ({files[rank]})",
        }
        found.append(Event("log.fault", at, pairs, resource))
    return found


def _apart(ledger: DumpLedger, at: float, resource: TelemetryResource) -> list[Event]:
    """Return that ranks called other kinds than their peers under one number, if none has most.

    Where most called the same, their counters tell (sizes may differ in some kinds).
    """
    found: list[Event] = []
    for group, sequence, called in ledger.mismatches():
        if len({kind.partition(" of ")[0] for kind in called.values()}) < 2:
            continue
        for rank in differing.smaller_sides(called):
            text = f"called {called[rank]} as {sequence} of {group.desc}, others something else"
            found.append(replace(differing.apart(rank, text, at), resource=resource))
    return found


def _spelled(group: ProcessGroup) -> str:
    return str(dict(group.info(0.0).attributes)["ranks"])
