"""The event catalogue, read from events.toml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from . import tables


@dataclass(frozen=True, slots=True)
class EventKind:
    """One event: its name, and the attributes its record may carry.

    `observed`: it is observed, by an agent or a scheduler, and taken from no process that tells it.
    """

    name: str
    help: str
    attributes: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    observed: bool = False


@cache
def catalogue() -> Mapping[str, EventKind]:
    """Return every event by name, in the file's order."""
    rows = tables.packaged(EventKind, __package__ or "", "events.toml", "event")
    return {row.name: row for row in rows}
