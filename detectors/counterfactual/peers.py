"""What suspects would do if they worked as their peers: draws of the peers' own steps.

A peer's work in another step, not its median: a job waits for the slowest of its ranks, and the
slowest of many medians is faster than the slowest of many ranks. What moves all ranks of a step
together (its batch, a clock) is taken from the step itself, what a rank's tokens explain from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

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


class PeerWork:
    """The work of all ranks in some steps, as what others would do.

    of_roles: the median work of a step is that of all ranks of a role, suspects included, and found
    once: where few of many are suspects, and one after the other.
    """

    def __init__(
        self, window: JobWindow, spans: StepSpans, work: RankWork, *, of_roles: bool = False
    ) -> None:
        self._window, self._work = window, work
        earlier = work_of(window, spans.before)
        known = earlier is not None and earlier.busy.shape[1] >= FEWEST_BEFORE
        self._earlier = earlier if known else None
        self._by_tokens = _by_tokens(window, spans.now, work.busy)
        self._usual: dict[int, Floats] | None = {} if of_roles else None

    @cached_property
    def freed(self) -> Floats:
        """Return [ranks, steps], the work of ranks freed of what their tokens explain (s)."""
        return self._work.busy / self._by_tokens

    def drawn(self, rows: Ints, count: int) -> PeerDraws | None:
        """Return draws of what suspects would do, None where nobody is comparable to them.

        Where all ranks of a role are suspects, by their own steps before the onset.
        """
        role_of = self._window.role_of
        suspect = np.zeros(len(role_of), np.bool_)
        suspect[rows] = True
        counts = np.isfinite(self._work.busy).any(axis=1) & ~suspect
        shape = (count, len(rows), self._work.busy.shape[1])
        drawn = RankWork(np.zeros(shape), np.zeros(shape), np.zeros(shape))
        error = 0.0
        for role in compute_time.roles(role_of[rows]):
            ours = np.flatnonzero(role_of[rows] == role)
            peers = np.flatnonzero((role_of == role) & counts)
            if not len(peers) and self._earlier is None:
                return None
            usual = self._median(role, peers)
            error = max(error, self._error(usual, len(peers)))
            for number in range(count):
                one = self._draw(rows[ours], peers, usual, number)
                drawn.data[number, ours] = one.data
                drawn.beside[number, ours] = one.beside
                drawn.busy[number, ours] = one.busy
        parts = zip(drawn.data, drawn.beside, drawn.busy, strict=True)
        return PeerDraws([RankWork(*one) for one in parts], error)

    def _median(self, role: int, peers: Ints) -> Floats:
        """Return [steps], the median work of the peers of a role, or of all of it (s)."""
        if self._usual is None:
            return medians.median(self.freed[peers], axis=0)
        if role not in self._usual:
            self._usual[role] = medians.median(self.freed[self._window.role_of == role], axis=0)
        return self._usual[role]

    def _error(self, usual: Floats, peers: int) -> float:
        known = usual[np.isfinite(usual)]
        few = peers < FEW_PEERS and self._earlier is None
        return UNKNOWN_RATIO * float(known.mean()) if few and len(known) else 0.0

    def _draw(self, rows: Ints, peers: Ints, usual: Floats, number: int) -> RankWork:
        """Return the waits and work of rows, as of a peer each in other steps."""
        steps = self._work.busy.shape[1]
        if not len(peers) and self._earlier is not None:
            return _own_past(self._earlier, rows, number, steps)
        chosen = peers[(number * STRIDE + np.arange(len(rows))) % len(peers)]
        shift = (number + 1) * STRIDE + 3 * np.arange(len(rows))
        columns = (np.arange(steps)[None, :] + shift[:, None]) % steps
        of_peer = (chosen[:, None], columns)
        ratio = self._ratio(rows, peers) / self._ratio(chosen, peers)
        # Of a step in which nobody of the role worked there is nothing to stray from.
        with np.errstate(invalid="ignore", divide="ignore"):
            stray = self.freed[of_peer] / usual[columns]
            busy = stray * usual * self._by_tokens[rows] * ratio[:, None]
        return RankWork(
            np.nan_to_num(self._work.data[of_peer]),
            np.nan_to_num(self._work.beside[of_peer]),
            np.where(np.isfinite(busy), busy, usual),
        )

    def _ratio(self, rows: Ints, peers: Ints) -> Floats:
        """Return [rows], their lasting ratio to the peers as it was before the onset, else 1."""
        if self._earlier is None:
            return np.ones(len(rows))
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = medians.median(self._earlier.busy[peers], axis=0)
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
