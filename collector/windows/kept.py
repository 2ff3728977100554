"""Features of steps kept beside them: only the columns that changed are computed.

Compute time and its ratio to peers are planes of the grid ("~own", "~ratio"), so they come and go
with its columns; what is one number a step is a ruler of it.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np

from ...detectors import compute_time
from ...detectors.features import newest_kept
from ...detectors.steps import ColumnFeatures
from ...detectors.window import Floats, Ints, StepValues
from .steps import StepGrid

OWN, RATIO = "~own", "~ratio"

REFIT_GROWTH = 1.1
"""Tokens are fitted anew when there are so many times the steps of the last fit."""

UNLIKE = 0.05
"""So is what a rank was never given before, by this share: even batches have become uneven."""

_NO_TOKENS = (float("inf"), float("-inf"))


class KeptFeatures:
    """What was computed of one grid, and of what."""

    _tokens = _NO_TOKENS
    """The fewest and most that were fitted; here, as snapshots of earlier builds have none."""

    def __init__(self) -> None:
        self._plane: str | None = None
        self._roles: Ints = np.zeros(0, np.int64)
        self._fit: compute_time.TokenFit | None = None
        self._fitted = 0
        self._version = 0
        self._made_of: tuple[object, ...] = ()
        self._made: dict[Hashable, object] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what a snapshot keeps: what can be made of the steps again is not."""
        return {**vars(self), "_made_of": (), "_made": {}}

    def refresh(self, grid: StepGrid, role_of: Ints) -> StepValues:
        """Return the grid's steps with their features, brought up to date."""
        steps = grid.view()
        columns, here = grid.columns, grid.columns.here
        dirty = columns.dirty[here]
        if dirty.any():
            plane = compute_time.own_plane(steps)
            fit = self._token_fit(steps, np.flatnonzero(dirty))
            if plane != self._plane or fit != self._fit or not np.array_equal(role_of, self._roles):
                self._plane, self._fit, self._roles = plane, fit, role_of
                dirty[:] = True
            self._compute(grid, steps, np.flatnonzero(dirty), role_of)
            self._version += 1
            columns.version[here][dirty] = self._version
            dirty[:] = False
        made_of = (self._version, steps.at.shape, steps.index.tobytes())
        if made_of != self._made_of:
            self._made_of, self._made = made_of, {}
        kept = [columns.values(name, len(role_of)) for name in (OWN, RATIO)]
        own, ratio = kept if self._plane is not None else (None, None)
        return StepValues(
            steps.index,
            steps.at,
            steps.planes,
            np.where(np.isfinite(columns.ended[here]), columns.ended[here], np.nan),
            ColumnFeatures(
                own,
                ratio,
                columns.duration[here],
                columns.most_tokens[here],
                columns.version[here],
                self._version,
                self._made,
            ),
        )

    def _compute(self, grid: StepGrid, steps: StepValues, changed: Ints, role_of: Ints) -> None:
        columns = grid.columns
        names = (compute_time.COMPUTE, compute_time.COMM, compute_time.STEP, compute_time.TOKENS)
        some = StepValues(
            steps.index[changed],
            steps.at[:, changed],
            {name: steps.planes[name][:, changed] for name in names if name in steps.planes},
        )
        own, ratio, duration, most = newest_kept(some, role_of, self._fit, own=self._plane)
        where = changed + columns.start
        columns.duration[where], columns.most_tokens[where] = duration, most
        for name, values in ((OWN, own), (RATIO, ratio)):
            if values is not None:
                number = columns.plane(name)
                with np.errstate(over="ignore"):
                    columns.planes[number][where, : len(values)] = values.T

    def _token_fit(self, steps: StepValues, changed: Ints) -> compute_time.TokenFit | None:
        count = len(steps.index)
        if not steps.has(compute_time.TOKENS):
            return self._fit
        fewest, most = _between(steps.plane(compute_time.TOKENS)[:, changed])
        known = (1 - UNLIKE) * self._tokens[0] <= fewest and most <= (1 + UNLIKE) * self._tokens[1]
        if REFIT_GROWTH * self._fitted > count >= self._fitted and known:
            return self._fit
        self._fitted = count
        self._tokens = min(fewest, self._tokens[0]), max(most, self._tokens[1])
        # As many ranks as are looked at in the end.
        stride = max(1, steps.at.size // (2 * compute_time.FIT_POINTS))
        planes = {name: plane[::stride] for name, plane in steps.planes.items()}
        some = StepValues(steps.index, steps.at[::stride], planes)
        own: Floats | None = compute_time.compute_time(some)
        return None if own is None else compute_time.token_fit(own, some.plane(compute_time.TOKENS))


def _between(tokens: Floats) -> tuple[float, float]:
    """Return the fewest and the most tokens of a rank in these steps."""
    known = np.isfinite(tokens)
    return (
        float(tokens.min(initial=np.inf, where=known)),
        float(tokens.max(initial=-np.inf, where=known)),
    )
