"""A stretch of the past that is asked about, and since when the journal holds anything."""

from dataclasses import dataclass
from pathlib import Path

from ...formats import segments

LEAD_SECONDS = 1200.0
"""So much is read before a stretch: windows that begin in a fault would date it otherwise."""

_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class JournalStretch:
    """What is asked: a job, and from when to when (receive times, seconds since the epoch)."""

    journal: Path
    job: str
    start: float
    end: float


def held_from(folder: Path) -> float | None:
    """Return the receive time of the oldest entry held (s since the epoch), None without any."""
    for file in segments.segments(folder):
        try:
            at_ns = segments.first_at_ns(file)
        except FileNotFoundError:
            continue  # trimmed meanwhile
        if at_ns is not None:
            return at_ns / _SECOND_NS
    return None
