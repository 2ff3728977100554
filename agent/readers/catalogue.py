"""What is known of every reader beside its code: readers.toml, read.

`rankscope doctor` and the readers' pages in docs/ are made from it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, cast

Profile = Literal["restricted", "full"]


@dataclass(frozen=True, slots=True)
class Entry:
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
    metrics: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    hardware: str = ""


@cache
def entries() -> Mapping[str, Entry]:
    """Return every entry by the reader's name, in the file's order.

    Raises KeyError where an entry lacks a field: a test would see it first.
    """
    text = resources.files(__package__ or "").joinpath("readers.toml").read_text(encoding="utf-8")
    return parsed(text)


def parsed(text: str) -> Mapping[str, Entry]:
    """Return the entries of a TOML text with `[[reader]]` rows; KeyError where a field lacks."""
    return {
        row["name"]: Entry(
            name=row["name"],
            what=row["what"],
            source=row["source"],
            profile=cast("Profile", row["profile"]),
            needs=row["needs"],
            restricted_blind=row["restricted_blind"],
            failure=row["failure"],
            fix=row["fix"],
            metrics=tuple(row.get("metrics", ())),
            events=tuple(row.get("events", ())),
            hardware=row.get("hardware", ""),
        )
        for row in tomllib.loads(text)["reader"]
    }
