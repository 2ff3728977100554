"""Lines by which a rank says that another one called something else: they are about both."""

from dataclasses import replace

from ....vocabulary.samples import Event
from ..job.size import MOST_RANKS

_SIGNATURE = "collective.mismatch"


def of_peer(event: Event, rank: int | None) -> tuple[int, Event] | None:
    """Return such a line as the other rank's, and which one that is; None for any other line.

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
