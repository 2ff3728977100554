"""What is told of updates that are skipped one after the other."""

from ...vocabulary.samples import Event, Scalar
from . import cleaning

FIRST = 3
"""So many in a row are told first; from then on each time that they are twice as many."""


def event(signature: str, count: int, text: str, at: float, rank: int | None) -> Event:
    """Return that so many in a row were skipped, by the newest line that says so."""
    pairs: dict[str, Scalar] = {
        "signature": signature, "role": "confirmation", "count": count,
        "text": cleaning.shown(text),
    }  # fmt: skip
    return Event("log.fault", at, pairs | ({} if rank is None else {"rank": rank}))
