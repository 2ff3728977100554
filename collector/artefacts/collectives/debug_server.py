"""What torch's debug server left: pages with the lists of all ranks, and dumps of their stacks.

It dumps stacks every few seconds, of a job at work too: ranks stand where they do in two dumps
without a difference, between which and after which no step ended.
"""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path

from ....formats.flight_recorder import debug_server
from ....formats.stacks import places
from ....formats.stacks.records import ProcessStacks, ThreadStack
from ....formats.training_logs import cleaning, crashes
from ....vocabulary.samples import Event, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote
from ..job.size import MOST_RANKS
from . import stacks
from .stacks import StackFindings, StoodProcess

UNANSWERED = "torch.debug_unanswered"
_MOST_BYTES = 64 << 20
_WRITTEN = re.compile(r"_(\d{8}_\d{6})\.txt$")


def read_page(path: Path) -> dict[int, bytes]:
    """Return by rank the lists of operations in a page."""
    with path.open("rb") as opened:
        return debug_server.lists(opened.read(_MOST_BYTES).decode("utf-8", "replace"))


def add_stacks(
    files: Mapping[str, Path],
    resource: TelemetryResource,
    found: ArtefactContents,
    *,
    zone: tzinfo | None,
    stepped: float | None,
) -> StackFindings:
    """Add where each rank stood, and which rank did not answer; times are those of the names.

    Return who waits for whom. `stepped`: when the last step ended by the logs, s since the epoch;
    infinite where they have no times.
    """
    dumps: dict[float, list[StoodProcess]] = {}
    for name, path in files.items():
        at = _written(name, zone) or path.stat().st_mtime
        with path.open("rb") as opened:
            lines = opened.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
        ranks = 0
        for rank, part in debug_server.stacks(lines):
            if calls := _main(part):
                ranks += 1
                if rank < MOST_RANKS and (stood := _stood(name, lines, rank, calls)):
                    dumps.setdefault(at, []).append(stood)
                stack = cleaning.shown_lines(crashes.joined(calls))
                pairs: dict[str, Scalar] = {"rank": rank, "text": stack}
                found.events.append(Event("process.stack", at, pairs, resource))
        quiet = debug_server.silent(lines)
        for rank, why in quiet.items():
            text = f"rank {rank} did not answer torch's debug server: {cleaning.shown(why)}"
            pairs = {"signature": UNANSWERED, "role": "root", "rank": rank, "text": text}
            found.events.append(Event("log.fault", at, pairs, resource))
            found.quotes.append(LogQuote(name, 1, at, rank, UNANSWERED, "root", text))
        silent = f", {len(quiet)} did not answer" if quiet else ""
        found.read[name] = f"stacks of {ranks} ranks, by torch's debug server{silent}"
        found.until = max(found.until or at, at)
    still = _still(dumps, stepped)
    found.quotes += [one.quote for one in still]
    return stacks.together(still)


def _stood(name: str, lines: list[str], rank: int, calls: list[str]) -> StoodProcess | None:
    line = 1 + next(n for n, text in enumerate(lines) if text.startswith(f"=== Rank {rank}: "))
    process = ProcessStacks(line, line, rank=rank, threads=[ThreadStack(main=True, calls=calls)])
    place = places.of(process)
    return None if place is None else StoodProcess(name, process, rank, place)


def _still(dumps: Mapping[float, list[StoodProcess]], stepped: float | None) -> list[StoodProcess]:
    """Return where ranks stand in the newest dump, none where they stood elsewhere before."""
    if len(dumps) < 2:
        return []
    before, newest = sorted(dumps)[-2:]
    if stepped is not None and stepped >= before:
        return []
    alike = _calls(dumps[before]) == _calls(dumps[newest])
    return dumps[newest] if alike else []


def _calls(stood: list[StoodProcess]) -> dict[int | None, list[str]]:
    return {one.rank: one.place.thread.calls for one in stood}


def _main(part: list[str]) -> list[str]:
    """Return the stack of the thread that Python lists last: the one that began the process."""
    calls: list[str] = []
    for line in part:
        if "(most recent call first)" in line:
            calls = []
        elif called := crashes.call(line):
            calls.append(called)
    return calls


def _written(name: str, zone: tzinfo | None) -> float | None:
    found = _WRITTEN.search(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%d_%H%M%S").replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
