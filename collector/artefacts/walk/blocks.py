"""One walk over the bytes of a log that feeds all its readers: each block is searched once."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import BinaryIO

from ....formats import check_reports, device_tables, kernel_log, stacks, training_logs
from ....formats.nccl import ras
from ....formats.training_logs import launchers
from .needle_search import FoundText, NeedleSearch

_BLOCK = 1 << 19
_LONGEST = 1 << 20
"""A longer line is read in pieces, of which some readers take the first alone."""


class TextGroup(IntEnum):
    """Whose texts a place holds."""

    TRAINING = 0
    LAUNCHERS = 1
    KERNEL = 2
    RAS = 3
    TABLES = 4
    STACKS = 5
    CHECKS = 6


@dataclass(frozen=True, slots=True)
class LogBlock:
    """Bytes that follow each other in a log, cut where a line ends as long as lines end at all.

    lines: the same as whole lines; of one that goes over several blocks only its beginning is
    there. places: by TextGroup the texts in `data`; those of `lines` are beside them.
    """

    data: bytes
    lines: bytes
    places: list[list[FoundText]]
    line_places: list[list[FoundText]]


@cache
def _search() -> NeedleSearch:
    return NeedleSearch([
        training_logs.texts(), launchers.texts(), kernel_log.texts(), ras.MARKS,
        device_tables.MARKS, stacks.MARKS, check_reports.LOG_MARKS,
    ])  # fmt: skip


def pieces(opened: BinaryIO) -> Iterator[bytes]:
    """Yield a log in pieces that end where a line does, as long as lines end at all."""
    rest = b""
    while piece := opened.read(_BLOCK):
        data = rest + piece if rest else piece
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) < _LONGEST:
            rest = data
            continue
        data, rest = (data[:cut], data[cut:]) if cut else (data, b"")
        yield data
    if rest:
        yield rest


def marked(data: bytes, mark: bytes) -> Iterator[int]:
    """Yield where lines first have a mark."""
    place = data.find(mark)
    while place >= 0:
        yield place
        place = data.find(mark, data.find(b"\n", place) + 1 or len(data))


def blocks(opened: BinaryIO) -> Iterator[LogBlock]:
    """Yield a log as blocks. Raises OSError."""
    search, inside = _search(), False
    for data in pieces(opened):
        lines = data[data.find(b"\n") + 1 or len(data) :] if inside else data
        if lines and not lines.endswith(b"\n"):
            lines += b"\n"
        places = search.places(data)
        yield LogBlock(data, lines, places, search.places(lines) if inside else places)
        inside = not data.endswith(b"\n")
