"""A rank's own share of a step, freed of what is normal: its role, its tokens, its own habit.

In a synchronous job every rank's step takes as long as the slowest one's, so step time accuses
nobody. What a rank did itself (its compute time, or the step less the wait inside collectives)
does. Used by the detectors of slow steps and of stragglers.

References: What-if analysis of stragglers (OSDI'25) for sequence length as the main cause of
uneven compute; ResiHP (2026) for predicting from tokens before blaming anybody.
"""

from dataclasses import dataclass

import numpy as np

from . import medians
from .arrays import Floats, Ints
from .steps import StepValues

COMPUTE = "training.compute.duration"
COMM = "training.comm.duration"
STEP = "training.step.duration"
TOKENS = "training.tokens"

MOST = 1e12
"""Seconds or tokens of one step beyond this are a sender's mistake, and would overflow the fit."""

STALE_SECONDS = 60.0
"""Reports may be that late: a slow reporter, a host clock that is a little off."""

HEALTHY_QUANTILE = 0.3
"""The peers' healthy reference: below the median, so that half of a small job may be affected."""

FIT_POINTS = 65_536
"""Points that tokens are fitted to; more would say the same."""


def compute_time(steps: StepValues) -> Floats | None:
    """Return [ranks, steps], each rank's own seconds in a step; None when nobody reports."""
    plane = own_plane(steps)
    return None if plane is None else own_seconds(steps, plane)


def own_plane(steps: StepValues) -> str | None:
    """Return the plane that compute time is made of, None when nobody reports one.

    Step time alone will do where several ranks report theirs: in a synchronous job it is the same
    for all of them and accuses nobody, elsewhere it is their own.
    """
    if steps.has(COMPUTE):
        return COMPUTE
    if not steps.has(STEP):
        return None
    if steps.has(COMM):
        return COMM
    return STEP if len(steps.at) > 1 else None


def own_seconds(steps: StepValues, plane: str) -> Floats:
    """Return [ranks, steps], own seconds made of `own_plane`."""
    if plane in (COMPUTE, STEP):
        return _sane(steps.plane(plane))
    return np.maximum(_sane(steps.plane(STEP)) - _sane(steps.plane(COMM)), 0.0)


@dataclass(frozen=True, slots=True)
class TokenFit:
    """A parabola in tokens (attention grows faster than tokens) that predicts compute time."""

    scale: float
    middle: float
    powers: tuple[float, ...]

    def freed(self, own: Floats, tokens: Floats, *, usual: float = float("nan")) -> Floats:
        """Return compute time as it would be with so many usual tokens; NaN: those of the median.

        Usual tokens count as between the fewest and the most of these: the parabola is not known
        beyond. What tokens predict is never less than a fifth of the median.
        """
        known = tokens[np.isfinite(_sane(tokens))]
        middle = self.middle
        if np.isfinite(usual) and len(known):
            inside = np.clip([usual], known.min(), known.max())
            middle = float(self._predicted(inside)[0])
        freed: Floats = own * middle / self._predicted(tokens)
        return freed

    def _predicted(self, tokens: Floats) -> Floats:
        predicted = np.polyval(np.array(self.powers), _sane(tokens) / self.scale)
        return np.maximum(predicted, 0.2 * self.middle)


def exchange(steps: StepValues) -> Floats:
    """Return [steps], the shortest time that any rank spent in collectives; NaN: nobody reported.

    Over all ranks and not by role: the members of a role whose input comes late wait all together.
    """
    comm = steps.plane(COMM)
    comm = np.where((comm >= 0) & (comm < MOST), comm, np.nan)
    # One that never waits does not measure it.
    measured = np.nan_to_num(comm).any(axis=1)
    comm = comm[measured]
    if len(comm) < 2:
        return np.full(comm.shape[1], np.nan)
    shortest = np.min(np.where(np.isnan(comm), np.inf, comm), axis=0)
    return np.where(np.isfinite(shortest), shortest, np.nan)


def per_token(own: Floats, steps: StepValues) -> Floats:
    """Return compute time over what the rank's tokens predict, where tokens vary and explain it."""
    if not steps.has(TOKENS):
        return own
    tokens = steps.plane(TOKENS)
    fit = token_fit(own, tokens)
    return own if fit is None else fit.freed(own, tokens)


def token_fit(own: Floats, tokens: Floats) -> TokenFit | None:
    """Return how tokens predict compute time, both of one shape; None where they do not explain it.

    Fitted without the points far off it: compilation, stray delays. It has to explain a good part
    of the variance, and to grow with tokens over all of their range: more of them are never less
    work. A parabola that sinks somewhere (a warm-up had few tokens) is a line.
    """
    tokens = _sane(tokens)
    both = np.isfinite(own) & np.isfinite(tokens)
    if both.sum() < 20:
        return None
    x, y = tokens[both].astype(np.float64), own[both].astype(np.float64)
    if x.min() == x.max():
        return None
    if len(x) > FIT_POINTS:
        chosen = np.linspace(0, len(x) - 1, FIT_POINTS).astype(np.int64)
        x, y = x[chosen], y[chosen]
    scale = medians.middle(x)
    # Tokens that were even until a moment ago vary little as yet, but some of them by much.
    if scale <= 0 or (x.std() <= 0.01 * scale and np.ptp(x) <= 0.1 * scale):
        return None
    usual = medians.middle(y)
    kept = y < 5 * usual
    power = np.vander(x / scale, 3)
    fit: Floats = np.zeros(3)
    for _ in range(3):
        if kept.sum() < 20:
            return None
        fit = _growing(power[kept], y[kept])
        off = np.abs(y - power @ fit)
        kept = off <= 4 * medians.middle(off[kept]) + 1e-9 * usual
    left = y[kept] - power[kept] @ fit
    if left.var() > 0.75 * y[kept].var() or not fit.any():
        return None
    return TokenFit(scale, usual, tuple(fit.tolist()))


def _growing(power: Floats, seconds: Floats) -> Floats:
    """Return the powers, highest first, that fit seconds best and grow with tokens; 0: none do."""
    fit = np.asarray(np.linalg.lstsq(power, seconds, rcond=None)[0], np.float64)
    tokens = power[:, 1]
    if min(2 * fit[0] * tokens.min(), 2 * fit[0] * tokens.max()) + fit[1] >= 0:
        return fit
    line = np.asarray(np.linalg.lstsq(power[:, 1:], seconds, rcond=None)[0], np.float64)
    return np.append(0.0, line) if line[0] > 0 else np.zeros(3)


def _sane(values: Floats) -> Floats:
    return np.where(np.abs(values) < MOST, values, np.nan)


def against_peers(own: Floats, role_of: Ints) -> Floats:
    """Return [ranks, steps], compute time over the healthy reference of ranks of the same role."""
    ratio = np.full(own.shape, np.nan)
    for role in roles(role_of):
        rows = np.flatnonzero(role_of == role)
        if len(rows) < 2:
            continue
        reference = low_quantile(own[rows])
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio[rows] = np.where(reference > 0, own[rows] / reference, np.nan)
    return ratio


def roles(role_of: Ints) -> list[int]:
    """Return the distinct roles, ascending; mostly there is one, and nothing is sorted for it."""
    if not len(role_of):
        return []
    first = int(role_of[0])
    if (role_of == first).all():
        return [first]
    return [int(role) for role in np.unique(role_of)]


def low_quantile(values: Floats) -> Floats:
    """Return [steps], the healthy quantile over ranks; NaN where fewer than two reported."""
    valid = np.isfinite(values).sum(axis=0)
    rank = np.maximum(np.ceil(HEALTHY_QUANTILE * valid).astype(int) - 1, 0)
    wanted = np.unique(rank)
    # NaN sorts last; few distinct numbers are wanted, and only their neighbourhood is sorted.
    ordered = np.partition(values, wanted, axis=0) if len(values) and len(wanted) else values
    picked = ordered[rank, np.arange(values.shape[1])]
    return np.where(valid >= 2, picked, np.nan)


def recent_count(steps: StepValues, *, seconds: float, fewest: int) -> int:
    """Return how many of the newest steps cover `seconds`, at least `fewest`."""
    ends = step_ends(steps)
    if not len(ends):
        return fewest
    covered = int((ends > ends[-1] - seconds).sum())
    return max(covered, fewest)


def step_ends(steps: StepValues) -> Floats:
    """Return [steps], when each step ended on the last of its ranks."""
    return medians.highest(steps.at, axis=0) if steps.ends is None else steps.ends


def stale(steps: StepValues, now: float) -> bool:
    """Tell whether the newest step ended so long ago that it says nothing about now.

    A job that ended, hangs or evaluates is not slow: its last steps only were.
    """
    ends = step_ends(steps)
    ends = ends[np.isfinite(ends)]
    if len(ends) < 2:
        return False
    usual = medians.middle(ends[1:] - ends[:-1])
    return now - float(ends[-1]) > max(STALE_SECONDS, 10 * usual)


def complete(steps: StepValues) -> StepValues:
    """Return the steps without the newest ones that part of the ranks has yet to tell."""
    if not steps.at.size:
        return steps
    # At least half of the columns that the usual share is taken of have it.
    valid = np.isfinite(steps.at[:, -20:]).mean(axis=0)
    usual = medians.middle(valid)
    last = int(np.flatnonzero(valid >= usual)[-1])
    return steps.cut(0, len(steps.index) - len(valid) + last + 1)
