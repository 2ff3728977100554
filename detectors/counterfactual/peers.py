"""What suspects would do if they worked as their peers: draws of the peers' own steps.

A peer's work in another step, not its median: a job waits for the slowest of its ranks, and the
slowest of many medians is faster than the slowest of many ranks. What moves all ranks of a step
together (its batch, a clock) is taken from the step itself, what a rank's tokens explain from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import compute_time, medians
from ..arrays import Floats, Ints
from ..window import JobWindow
from .spans import StepSpans
from .work import RankWork, work_of

STRIDE = 7
"""Steps and peers between two draws: far enough that a stray delay is not drawn over and over."""

LIKE, UNLIKE = 0.8, 1.25
"""A rank's lasting ratio to its peers is between these; beyond it is something else."""

FEWEST_BEFORE = 10
"""Steps before the onset from which the lasting ratios of ranks are known."""

UNKNOWN_RATIO, FEW_PEERS = 0.01, 4
"""By so much devices of one model differ; with fewer peers that is not seen in their spread."""


@dataclass(frozen=True, slots=True)
class PeerDraws:
    """Draws of the suspects' work, each [suspects, steps].

    error: the standard error (s) of a step that comes of what no draw shows.
    """

    works: Sequence[RankWork]
    error: float


def drawn(
    window: JobWindow, spans: StepSpans, work: RankWork, rows: Ints, count: int
) -> PeerDraws | None:
    """Return draws of what suspects would do, None where nobody is comparable to them.

    Where all ranks of a role are suspects, by their own steps before the onset.
    """
    suspect = np.zeros(len(work.busy), np.bool_)
    suspect[rows] = True
    free = suspect | ~np.isfinite(work.busy).any(axis=1)
    shape = (count, len(rows), work.busy.shape[1])
    drawn_work = RankWork(np.zeros(shape), np.zeros(shape), np.zeros(shape))
    error = 0.0
    earlier = work_of(window, spans.before)
    by_tokens = _by_tokens(window, spans.now, work.busy)
    for role in compute_time.roles(window.role_of[rows]):
        ours = np.flatnonzero(window.role_of[rows] == role)
        peers = np.flatnonzero((window.role_of == role) & ~free)
        past = earlier is not None and earlier.busy.shape[1] >= FEWEST_BEFORE
        if not len(peers) and not past:
            return None
        drawing = _PeerWork(work, earlier, by_tokens, peers)
        error = max(error, drawing.error)
        for number in range(count):
            one = drawing.draw(rows[ours], number) if len(peers) else None
            if one is None and earlier is not None:
                one = _own_past(earlier, rows[ours], number, shape[2])
            if one is not None:
                drawn_work.data[number, ours] = one.data
                drawn_work.beside[number, ours] = one.beside
                drawn_work.busy[number, ours] = one.busy
    parts = zip(drawn_work.data, drawn_work.beside, drawn_work.busy, strict=True)
    return PeerDraws([RankWork(*one) for one in parts], error)


class _PeerWork:
    """The work of the peers of one role, as what others would do."""

    def __init__(
        self, work: RankWork, earlier: RankWork | None, by_tokens: Floats, peers: Ints
    ) -> None:
        self._work, self._by_tokens, self._peers = work, by_tokens, peers
        freed = work.busy[peers] / by_tokens[peers]
        self._usual = medians.median(freed, axis=0)
        self._stray = freed / self._usual
        self._earlier = earlier
        self._known = earlier is not None and earlier.busy.shape[1] >= FEWEST_BEFORE
        few = len(peers) < FEW_PEERS and not self._known
        usual = self._usual[np.isfinite(self._usual)]
        self.error = UNKNOWN_RATIO * float(usual.mean()) if few and len(usual) else 0.0

    def draw(self, rows: Ints, number: int) -> RankWork:
        """Return the waits and work of rows, as of a peer each in other steps."""
        steps = self._work.busy.shape[1]
        chosen = (number * STRIDE + np.arange(len(rows))) % len(self._peers)
        shift = (number + 1) * STRIDE + 3 * np.arange(len(rows))
        columns = (np.arange(steps)[None, :] + shift[:, None]) % steps
        stray = self._stray[chosen[:, None], columns]
        peers = self._peers[chosen]
        ratio = self._ratio(rows) / self._ratio(peers)
        busy = stray * self._usual * self._by_tokens[rows] * ratio[:, None]
        of_peer = (peers[:, None], columns)
        return RankWork(
            np.nan_to_num(self._work.data[of_peer]),
            np.nan_to_num(self._work.beside[of_peer]),
            np.where(np.isfinite(busy), busy, self._usual),
        )

    def _ratio(self, rows: Ints) -> Floats:
        """Return [rows], their lasting ratio to the peers as it was before the onset, else 1."""
        if self._earlier is None or not self._known:
            return np.ones(len(rows))
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = medians.median(self._earlier.busy[self._peers], axis=0)
            ratio = medians.median(self._earlier.busy[rows] / usual, axis=1)
        return np.clip(np.where(np.isfinite(ratio), ratio, 1.0), LIKE, UNLIKE)


def _own_past(earlier: RankWork, rows: Ints, number: int, steps: int) -> RankWork:
    """Return the waits and work of rows as they were in steps before the onset."""
    held = earlier.busy.shape[1]
    columns = (np.arange(steps) + (number + 1) * STRIDE) % held
    return RankWork(
        *(
            np.nan_to_num(part[rows][:, columns])
            for part in (earlier.data, earlier.beside, earlier.busy)
        )
    )


def _by_tokens(window: JobWindow, columns: slice, busy: Floats) -> Floats:
    """Return [ranks, steps], the factor on a rank's work that its tokens explain."""
    steps = window.features.steps
    if not steps.has(compute_time.TOKENS):
        return np.ones_like(busy)
    tokens = steps.plane(compute_time.TOKENS)[:, columns].astype(np.float64)
    fit = compute_time.token_fit(busy, tokens)
    if fit is None:
        return np.ones_like(busy)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = busy / fit.freed(busy, tokens)
    return np.where(np.isfinite(factor), factor, 1.0)
