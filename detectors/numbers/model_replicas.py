"""Which ranks hold parts of one copy of the model: they have the same batch and the same values."""

import numpy as np

from ..window import Ints, JobWindow


def replica_of(window: JobWindow) -> Ints | None:
    """Return [ranks], the data-parallel coordinate of each; None where that of any is unknown."""
    found = np.array(window.topology.dp, np.int64)
    return found if len(found) == len(window.ranks) and (found >= 0).all() else None


def count(window: JobWindow, rows: Ints) -> int:
    """Return to how many replicas ranks belong; as many as ranks where that is unknown."""
    found = replica_of(window)
    return len(rows) if found is None else len(np.unique(found[rows]))
