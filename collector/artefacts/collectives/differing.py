"""Ranks that called different collectives: which of them are named, and the events about them."""

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import replace

from ....vocabulary.log_lines import APART
from ....vocabulary.samples import Event, Scalar
from ..job.size import MOST_RANKS

_SIGNATURE = "collective.mismatch"

_FEW = 4
"""So many ranks of a side are named that calls other collectives."""


def smaller_sides(called: Mapping[int, Hashable]) -> list[int]:
    """Return the first ranks of the smallest side by what each called, of all that are as small.

    None where all called the same.
    """
    sides: dict[Hashable, list[int]] = defaultdict(list)
    for rank in sorted(called):
        sides[called[rank]].append(rank)
    fewest = min(map(len, sides.values()), default=0)
    few = [side[:_FEW] for side in sides.values() if len(side) == fewest]
    return sorted(rank for side in few for rank in side) if len(sides) > 1 else []


def apart(rank: int, text: str, at: float) -> Event:
    """Return what stands at `at` for all that shows that a rank's peers called something else."""
    pairs: dict[str, Scalar] = {
        "signature": APART, "role": "confirmation", "rank": rank, "text": f"rank {rank} {text}",
    }  # fmt: skip
    return Event("log.fault", at, pairs)


def of_peer(event: Event, rank: int | None) -> tuple[int, Event] | None:
    """Return a line in which a rank says so of another one as that one's, and which that is.

    None for any other line.

    Which of the two is right no line says, and the launcher may have seen either end.
    """
    peer = event.attributes.get("peer")
    if event.attributes.get("signature") != _SIGNATURE or not str(peer).isdecimal():
        return None
    other = int(str(peer))
    if rank is None or other == rank or other >= MOST_RANKS:
        return None
    pairs = {**event.attributes, "rank": other}
    return other, replace(event, attributes=pairs)
