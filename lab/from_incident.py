"""`rankscope lab from-incident`: an incident becomes a recording, and with feedback a case.

The recording is OTLP JSON lines, which `rankscope replay` reads; the truth file beside it holds
what people said that it was, which `rankscope lab score --recordings` compares with.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..collector.recordings.cut import CutError, JournalCut, JournalRange
from ..collector.recordings.truth import truth
from ..collector.store.errors import StoreError
from ..collector.store.store import IncidentDatabaseStore
from . import recordings

TRUTH_SUFFIX = ".truth.json"


class FromIncidentError(Exception):
    """An incident that cannot be cut out; the text is a message."""


@dataclass(frozen=True, slots=True)
class TakenRecording:
    """A recording's lines, and the truth about it."""

    lines: Iterable[str]
    truth: Mapping[str, Any]


def of_data(
    folder: Path, incident: str, *, before_seconds: float, anonymise: bool
) -> TakenRecording:
    """Cut an incident out of a collector's data folder. Raises FromIncidentError."""
    database, journal = folder / "rankscope.db", folder / "journal"
    if not database.is_file() or not journal.is_dir():
        raise FromIncidentError(
            f"{folder} is not the data folder of a collector: it has rankscope.db and journal; "
            "where incidents are in PostgreSQL, ask the collector with --url"
        )
    try:
        store = IncidentDatabaseStore(f"sqlite:///{database}")
        try:
            document = store.incident(incident)
        finally:
            store.close()
        if document is None:
            raise FromIncidentError(f"there is no incident {incident!r} in {database}")
        wanted = JournalRange.of(document, before_seconds=before_seconds)
        made = JournalCut(journal, wanted, anonymise=anonymise)
    except (StoreError, CutError) as error:
        raise FromIncidentError(str(error)) from error
    return TakenRecording(_checked(made), truth(document, made.names))


def write(taken: TakenRecording, out: Path) -> tuple[int, Path | None]:
    """Write the recording, and its truth where feedback names one; return lines and that file.

    The same recording gives the same bytes. Raises FromIncidentError, and OSError as files do.
    """
    with recordings.opened(out) as file:
        count = 0
        for line in taken.lines:
            file.write(line)
            file.write("\n")
            count += 1
    if taken.truth["fault"] is None:
        return count, None
    beside = truth_file(out)
    beside.write_text(json.dumps(taken.truth, indent=2) + "\n", encoding="utf-8")
    return count, beside


def truth_file(recording: Path) -> Path:
    """Return where the truth about a recording is."""
    name = recording.name.removesuffix(".gz").removesuffix(".jsonl")
    return recording.with_name(name + TRUTH_SUFFIX)


def _checked(made: JournalCut) -> Iterator[str]:
    try:
        yield from made.lines()
    except CutError as error:
        raise FromIncidentError(str(error)) from error
