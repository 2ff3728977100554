"""What two hosts that check each other tell each other: values, and which to measure again."""

import math
from collections.abc import Mapping, Sequence

from . import judging
from .judging import ComparedValues
from .measurements.rows import MeasuredRow, standard_error
from .peers import PeerConnection, PeerError

WAIT_SECONDS = 120.0
"""How long the peer's values are waited for: it may have more devices."""


def exchanged(
    peer: PeerConnection | None, measured: Mapping[str, Sequence[MeasuredRow]]
) -> Mapping[tuple[str, str], ComparedValues]:
    """Return what the peer measured meanwhile by check and kind, its devices together."""
    if peer is None:
        return {}
    ours = [
        [name, row.kind, value, standard_error(row.samples), row.others]
        for name, rows in measured.items()
        for row in rows
        if (value := judging.typical(row)) is not None
    ]
    theirs: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    try:
        peer.send({"values": ours})
        for name, kind, *numbers in peer.receive(WAIT_SECONDS).get("values", []):
            value, doubt, others = map(float, numbers)
            if math.isfinite(value + doubt + others):
                theirs.setdefault((str(name), str(kind)), []).append((value, doubt, others))
    except (PeerError, TypeError, ValueError):
        return {}
    who = f"{peer.name or 'the peer'} in the same minute"
    return {
        key: ComparedValues(
            tuple(value for value, _, _ in rows),
            who,
            max(doubt for _, doubt, _ in rows),
            min(others for _, _, others in rows),
        )
        for key, rows in theirs.items()
    }


def agreed(peer: PeerConnection | None, again: frozenset[str]) -> frozenset[str]:
    """Return the checks that this host or the peer would measure again; none without its word."""
    if peer is None:
        return again
    try:
        peer.send({"again": sorted(again)})
        theirs = peer.receive(WAIT_SECONDS).get("again", [])
        return again | frozenset(str(name) for name in theirs)
    except (PeerError, TypeError):
        return frozenset()
