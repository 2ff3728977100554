"""What torchrun's workers left of their exceptions, a file each, as lines of their ranks."""

import re
from collections.abc import Mapping
from pathlib import Path

from ....formats.training_logs import error_files
from ..found import ArtefactContents, LogQuote
from .contents import LogContents

_PLACE = re.compile(r"(?:^|/)(?:attempt_(?P<attempt>\d{1,6})/)?(?P<rank>\d{1,7})/[^/]+$")


def add(files: Mapping[str, Path], gathered: LogContents, found: ArtefactContents) -> None:
    """Add the exceptions of the last attempt; those before it are quoted only.

    torchrun counts the workers of its own node: where several left files, no file names its rank.
    It counts its own restarts, too, and they differ: the last attempt of each is the job's.
    """
    places = {name: _place(name) for name in files}
    if len({root for root, _, _ in places.values()}) > 1:
        places = {name: (root, attempt, None) for name, (root, attempt, _) in places.items()}
    last: dict[str, int] = {}
    for root, attempt, _ in places.values():
        last[root] = max(attempt, last.get(root, 0))
    for name, path in files.items():
        root, attempt, rank = places[name]
        try:
            with path.open("rb") as opened:
                error = error_files.read(opened.read(error_files.LONGEST))
        except OSError as failed:
            found.unread[name] = f"cannot be read: {failed.strerror}"
            continue
        event = None if error is None else error.event(rank)
        if error is None or event is None:
            found.unread[name] = "a worker's error file without an error of its own"
            continue
        found.read[name] = "the exception of a worker, as torchrun keeps it"
        role = str(event.attributes["role"]) if attempt == last[root] else "confirmation"
        signature = str(event.attributes["signature"])
        found.quotes.append(LogQuote(name, 1, error.at or None, rank, signature, role, error.text))
        if attempt < last[root]:
            continue
        gathered.has_log(rank)
        event = gathered.hang.learn(event, rank, error.at or None)
        gathered.events.append((rank, "", event))
        gathered.start.learn(event, rank)
        gathered.endings.learn(event, rank)


def _place(name: str) -> tuple[str, int, int | None]:
    """Return which launcher's, attempt's and rank's a file is, by its folders."""
    found = _PLACE.search(name)
    if found is None:
        return "", 0, None
    return name[: found.start()], int(found["attempt"] or 0), int(found["rank"])
