"""What torch's debug server left: pages with the lists of all ranks, and dumps of their stacks."""

import re
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path

from ....formats.flight_recorder import debug_server
from ....formats.training_logs import cleaning, crashes
from ....vocabulary.samples import Event, Scalar, TelemetryResource
from ..found import ArtefactContents, LogQuote

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
) -> None:
    """Add where each rank stood, and which rank did not answer; times are those of the names."""
    for name, path in files.items():
        at = _written(name, zone) or path.stat().st_mtime
        with path.open("rb") as opened:
            lines = opened.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
        ranks = 0
        for rank, part in debug_server.stacks(lines):
            if stack := _main(part):
                ranks += 1
                pairs: dict[str, Scalar] = {"rank": rank, "text": cleaning.shown_lines(stack)}
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


def _main(part: list[str]) -> str:
    """Return the stack of the thread that Python lists last: the one that began the process."""
    calls: list[str] = []
    for line in part:
        if "(most recent call first)" in line:
            calls = []
        elif called := crashes.call(line):
            calls.append(called)
    return crashes.joined(calls)


def _written(name: str, zone: tzinfo | None) -> float | None:
    found = _WRITTEN.search(name)
    if found is None:
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%d_%H%M%S").replace(tzinfo=zone).timestamp()
    except (ValueError, OverflowError):
        return None
