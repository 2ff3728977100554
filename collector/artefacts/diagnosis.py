"""A folder of leftovers to one incident document, by the pipeline of the live collector."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...vocabulary.samples import TelemetryResource
from .found import ArtefactContents
from .kinds import gather

if TYPE_CHECKING:
    from ..replay.replay import ReplayRun
    from ..settings.collector import CollectorSettings


_MOST_LINES = 10_000
"""Lines that a document quotes, those that may be the cause first."""


@dataclass(frozen=True, slots=True)
class FolderDiagnosis:
    """What came of a folder: the gravest incident, the others, and what they rest on."""

    incident: dict[str, Any] | None
    others: list[dict[str, Any]]
    found: ArtefactContents
    run: "ReplayRun"
    """What it was evaluated by: the incidents as they were at the end, and the pipeline."""
    ending: dict[str, Any] | None = None
    """Where nothing speaks of a fault: where a log ends that does not say that it is done."""

    def document(self) -> dict[str, Any] | None:
        """Return the incident's document with one key more, `leftovers`."""
        return None if self.incident is None else self.incident | {"leftovers": self.leftovers()}

    def ending_document(self) -> dict[str, Any] | None:
        """Return the same of where a log ends: it quotes that line, and what the job outlived."""
        if self.ending is None or self.found.open_end is None:
            return None
        quotes = [self.found.open_end, *self.found.apart]
        lines = {"lines": [quote.document() for quote in quotes]}
        return self.ending | {"leftovers": self.leftovers() | lines}

    def leftovers(self) -> dict[str, Any]:
        """Return what was read and what was not, the lines that tell, and what else they show."""
        found = self.found
        return {
            "read": found.read,
            "unread": found.unread,
            "missing": found.missing,
            "layout": found.layout,
            "lines": [quote.document() for quote in found.quotes[:_MOST_LINES]],
            "others": [other["summary"] for other in self.others],
        }


def diagnose(
    paths: Sequence[Path],
    settings: "CollectorSettings | None",
    *,
    job: str,
    failed: Callable[[str, Exception], None],
    zone: tzinfo | None = None,
    reading: Callable[[str], None] | None = None,
) -> FolderDiagnosis:
    """Read what lies in folders, files, archives of them or standard input (`-`); explain it.

    `settings` None: as shipped. `zone` is that of times in logs without one, None: the machine's.
    `reading` gets the name of each log before it is read, `failed` defects that were passed over.
    Raises RecordingError where nothing can be read.
    """
    resource = TelemetryResource("", job=job, attempt=0)
    found = gather(paths, resource, zone=zone, reading=reading)
    from . import explaining  # noqa: PLC0415  what was read is known before the engine is loaded

    incidents, run = explaining.incidents(found, settings, failed)
    ending = None if incidents else explaining.ending(found, resource, failed)
    return FolderDiagnosis(incidents[0] if incidents else None, incidents[1:], found, run, ending)
