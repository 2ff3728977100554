"""Isolation forest alone: a vector per rank and moment, and what is easy to set apart in it.

Every minute a forest (scikit-learn, 32 trees, seeded) is fitted to the vectors of all ranks over
the last five minutes; of each metric the vector has the distance from the median of the ranks. A
rank is an alarm when at least 9 of its last 12 vectors have an isolation of 0.6 or more (0.5 is
what a vector like all others has). Reference:
Liu, Ting, Zhou, Isolation Forest, ICDM 2008.
"""

import warnings

import numpy as np

from ....detectors.outliers import forests
from ....vocabulary.entities import Entity
from .alarms import MethodAlarm, Received
from .grid import Array, MetricGrid, filled

EVERY, PAST, RECENT, LASTING = 12, 60, 12, 9
LIMIT, TREES, PEERS = 0.6, 32, 4
_START = 24


def alarms(grid: MetricGrid, events: Received) -> list[MethodAlarm]:  # noqa: ARG001  one signature
    """Return an alarm for every rank and minute that stands apart."""
    ranks, vectors = _vectors(grid)
    if len(ranks) < PEERS or not vectors.shape[2]:
        return []
    found: list[MethodAlarm] = []
    for end in range(_START + RECENT, len(grid.at) + 1, EVERY):
        begin = max(_START, end - PAST)
        recent = _isolation(vectors[:, begin:end])
        if recent is None:
            continue
        often = (recent >= LIMIT).sum(axis=1)
        for row in np.flatnonzero(often >= LASTING).tolist():
            score = float(np.median(recent[row]))
            text = f"isolation {score:.2f}"
            found.append(MethodAlarm(float(grid.at[end - 1]), ranks[row], score, text))
    return found


def _vectors(grid: MetricGrid) -> tuple[tuple[Entity, ...], Array]:
    """Return the ranks, and what they report [ranks x moments x metrics] against their median."""
    whole = [row for row in grid.matrices if row.entities and row.entities[0].type == "rank"]
    ranks = tuple(sorted({entity for row in whole for entity in row.entities}))
    columns: list[Array] = []
    for matrix in whole:
        place = {entity: number for number, entity in enumerate(matrix.entities)}
        if any(rank not in place for rank in ranks):
            continue
        values = filled(matrix.values[[place[rank] for rank in ranks]], most=24)
        values = np.where(np.isfinite(values), values, np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # moments at which nobody reports
            off = values - np.nanmedian(values, axis=0)
        columns.append(np.nan_to_num(off))
    shape = (len(ranks), len(grid.at), 0)
    return ranks, np.stack(columns, axis=2) if columns else np.empty(shape)


def _isolation(vectors: Array) -> Array | None:
    """Return the isolation of the newest vectors [ranks x moments], larger = farther apart."""
    varied = vectors.reshape(-1, vectors.shape[2]).std(axis=0) > 0
    if not varied.any():
        return None
    flat, newest = (
        part[:, :, varied].reshape(-1, int(varied.sum()))
        for part in (vectors, vectors[:, -RECENT:])
    )
    return forests.isolation(flat, newest, trees=TREES, seed=0).reshape(len(vectors), RECENT)
