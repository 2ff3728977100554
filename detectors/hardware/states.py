"""States of devices that turned: what was well, or is of nearly all peers, and is so no more."""

from collections.abc import Iterator

import numpy as np

from ...vocabulary.entities import Entity
from ..window import JobWindow
from . import counters, devices


def turned(
    window: JobWindow, metric: str, *, well: float, peers: float
) -> Iterator[tuple[Entity, list[str], tuple[float, float]]]:
    """Yield devices, the variants of a state (0 or 1) of each that are not `well`, the first onset.

    One counts where the device had it well before, or where a share `peers` of the other devices of
    its model have. Onsets are (last seen well, first seen not), seconds since the epoch.
    """
    names: dict[int, list[str]] = {}
    first: dict[int, tuple[float, float]] = {}
    for values, name in counters.variants(window.rank_readings, metric):
        held = window.rank_readings[name]
        state, _ = held.latest()
        rows = np.flatnonzero(state == 0 if well else state > 0)
        if not len(rows):
            continue
        kinds = devices.models(window, power=False)[0]
        for row in rows.tolist():
            was_well = bool((held.of(np.array([row])).value == well).any())
            others = state[(kinds == kinds[row]) & np.isfinite(state)]
            well_now = int((others == well).sum())
            of_peers = well_now >= devices.FEWEST_PEERS and well_now >= peers * (len(others) - 1)
            if not was_well and not of_peers:
                continue
            at = devices.since(held, row, 0.5, below=bool(well))
            before = (at - held.period(), at) if was_well else (at, at)
            names.setdefault(row, []).append(values[0] if values else "?")
            first[row] = min(first.get(row, before), before)
    for row in sorted(names):
        entity = window.gpu_entity(row)
        if entity is not None:
            yield entity, names[row], first[row]
