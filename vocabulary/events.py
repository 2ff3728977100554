"""The event catalogue, read from events.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class EventKind:
    """One event: its name, and the attributes its record may carry."""

    name: str
    help: str
    attributes: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def catalogue() -> Mapping[str, EventKind]:
    """Return every event by name, in the file's order."""
    text = resources.files(__package__ or "").joinpath("events.toml").read_text(encoding="utf-8")
    return {
        row["name"]: EventKind(
            name=row["name"],
            help=row["help"],
            attributes=tuple(row["attributes"]),
            values={key: tuple(values) for key, values in row.get("values", {}).items()},
        )
        for row in tomllib.loads(text)["event"]
    }
