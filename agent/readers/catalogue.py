"""What is known of every reader beside its code: readers.toml, read.

`rankscope doctor` and the readers' pages in docs/ are made from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from ...vocabulary import events, metrics, row_values, tables

Profile = Literal["restricted", "full"]


def _metrics() -> Iterable[str]:
    return metrics.catalogue()


MetricName = Annotated[str, row_values.KnownValues("metric", _metrics)]
EventName = Annotated[str, row_values.KnownValues("event", events.catalogue)]


@dataclass(frozen=True, slots=True)
class ReaderEntry:
    """One reader's entry.

    `profile` is the least one in which it works; `hardware` is what must be there for it to have
    anything to read ("" when every node has it), so that its absence is no problem.
    """

    name: str
    what: str
    source: str
    profile: Profile
    needs: str
    restricted_blind: str
    failure: str
    fix: str
    metrics: tuple[MetricName, ...] = ()
    events: tuple[EventName, ...] = ()
    hardware: str = ""


@cache
def entries() -> Mapping[str, ReaderEntry]:
    """Return every entry by the reader's name, in the file's order."""
    rows = tables.packaged(ReaderEntry, __package__ or "", "readers.toml", "reader")
    return {row.name: row for row in rows}
