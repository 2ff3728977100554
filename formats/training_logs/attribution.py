"""Whose a line is: by its prefix, by what it says itself, by whose log it stands in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .cleaning import CleanedLine
from .line_formats import LineFormat
from .signatures import TrainingLogFault

_INSIDE = re.compile(r"\[rank(\d{1,7})\]:")
_WATCHDOGS = re.compile(
    r"\[(?:PG (?:0|ID 0 PG GUID 0)(?: ?\((?:default_pg|default)\))? )?Rank:? ?(\d{1,7})\]"
)
"""What torch's watchdog and some devices' runtimes write in their lines: the rank of all ranks."""


@dataclass(frozen=True, slots=True)
class LogAttribution:
    """What is known of a log; `rank` None: several ranks write into it.

    world_size: how many ranks the job has, where known. local_ranks: global ranks by local rank,
    for prefixes that name only that.
    """

    rank: int | None
    world_size: int | None
    local_ranks: Mapping[int, int]

    def prefixed(self, cleaned: CleanedLine) -> int | None:
        """Return the rank that a line's prefix names, None where it names none that is known."""
        if cleaned.rank is not None or cleaned.local is None:
            return cleaned.rank
        return self.local_ranks.get(cleaned.local)

    def written_by(self, cleaned: CleanedLine) -> int | None:
        """Return the rank that wrote a line, by its prefix or its log."""
        rank = self.prefixed(cleaned)
        return self.rank if rank is None else rank

    def printed_by(
        self, cleaned: CleanedLine, named: int | None, chosen: LineFormat
    ) -> tuple[int | None, bool]:
        """Return whose values a line has, and False where only a local rank is known.

        named: the rank that the line itself names. Where nobody says so, it is the rank that prints
        in this framework; None: not known.
        """
        rank = self.prefixed(cleaned)
        if rank is None and cleaned.local is not None:
            # Rank 0 is the first of its host; of another host's only the launcher knows.
            known = named is not None or chosen.rank != "first" or cleaned.local == 0
            otherwise = 0 if chosen.rank == "first" else None
            return (named if named is not None else otherwise), known
        for one in (rank, named, self.rank):
            if one is not None:
                return one, True
        if chosen.rank == "first":
            return 0, True
        if chosen.rank == "last" and self.world_size:
            return self.world_size - 1, True
        return None, True

    def reported_by(self, cleaned: CleanedLine, fault: TrainingLogFault) -> int | None:
        """Return the rank that a fault's line is about, or that wrote it."""
        if fault.signature.about_named_rank and fault.rank is not None:
            return fault.rank
        rank = self.prefixed(cleaned)
        if rank is None and (inside := _INSIDE.search(cleaned.text)):
            rank = int(inside[1])  # behind another's unfinished line
        if rank is None:
            rank = self.rank
        if rank is not None or cleaned.local is not None:
            return rank
        if fault.rank is None and fault.signature.role == "root":
            said = _WATCHDOGS.search(cleaned.text)
            return int(said[1]) if said else None
        return fault.rank
