"""What a line says by families of words, where no signature has its wording.

Messages of one fault are worded in a thousand ways, by few roots: memory that was refused, of a
device; a peer that could not be reached. What is read so is a guess: it is asked only of the last
words of a log, of which no line is known.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ...vocabulary import tables

NEAR = 6
"""So many lines before and behind one belong to it."""


@dataclass(frozen=True, slots=True)
class FaultFamily:
    """One family: which words a line has, and what it then stands for.

    all, near: names of words. signature, launcher: what it stands for. beside_crash: it says more
    than that a process ended. start: only of a log without a step; context: which has other lines
    above.
    """

    name: str
    all: tuple[str, ...]
    example: str
    signature: str = ""
    launcher: str = ""
    near: tuple[str, ...] = ()
    beside_crash: bool = False
    start: bool = False
    context: bool = False


@dataclass(frozen=True, slots=True)
class _FamilyTable:
    words: Mapping[str, tuple[str, ...]]
    families: tuple[FaultFamily, ...] = field(metadata={"key": "family"})
    version: str = ""
    source: str = ""


HARMLESS = "harmless"
"""Words of lines that are no failure, of whatever family they look."""


@cache
def catalogue() -> tuple[FaultFamily, ...]:
    """Return all families, in their order."""
    return _table().families


@cache
def words(name: str) -> re.Pattern[str]:
    """Return the pattern of any of the words of a name."""
    return re.compile("(?i)" + "|".join(_table().words[name]))


def read(lines: Sequence[str], place: int) -> FaultFamily | None:
    """Return the family of one of some lines, None where it is of none."""
    text = lines[place]
    if words(HARMLESS).search(text):
        return None
    around = lines[max(0, place - NEAR) : place + NEAR + 1]
    for one in catalogue():
        if not all(words(name).search(text) for name in one.all):
            continue
        if not one.near or any(words(name).search(o) for name in one.near for o in (text, *around)):
            return one
    return None


@cache
def _table() -> _FamilyTable:
    return tables.file(_FamilyTable, __package__ or "", "families.toml")
