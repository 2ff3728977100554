"""What detectors compute of steps, once for all: compute time, its ratio to peers, durations.

The collector keeps these beside the steps and computes only the columns that changed (`Kept` in
steps.py); a window drawn by hand computes them when they are asked for.
"""

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Protocol, TypeVar, cast

import numpy as np

from . import compute_time, curves, medians
from .arrays import Flags, Floats, Ints
from .healthy_time import HealthyPace, warmed_up
from .steps import StepValues

T = TypeVar("T")

DATA = "training.data.duration"

FEWEST_REPORTED = 0.3
"""Share of the steps that must come with a duration for durations to be looked at."""

UNIT, FITTED = 10.0, 64
"""Factor between two units of time at least; so many of the newest steps are compared."""

TOKEN_RANKS, MOSTLY = 512, 0.95
"""So many ranks show who has reported a step, and the share of those that usually have."""

PARTS = (
    compute_time.COMPUTE,
    compute_time.COMM,
    DATA,
    "training.optimizer.duration",
    "training.checkpoint.duration",
    "training.gc.duration",
)


class HeldBesideSteps(Protocol):
    """What features ask of an attempt's baselines, which are themselves learnt of features."""

    loss: curves.CurveMemory
    gradient: curves.CurveMemory
    pace: HealthyPace | None


class StepFeatures:
    """Features of the steps that all ranks have reported, made when first asked for.

    held: all steps of the window. ranks, role_of: [ranks], of each row. beside: what outlives the
    steps; None where nothing does.
    """

    def __init__(
        self,
        held: StepValues,
        *,
        ranks: Ints,
        role_of: Ints,
        now: float,
        beside: HeldBesideSteps | None = None,
    ) -> None:
        self.held = held
        self.ranks = ranks
        self._role_of = role_of
        self._now = now
        self._beside = beside
        self._made: dict[Hashable, object] = {}

    @cached_property
    def steps(self) -> StepValues:
        """Return the steps without the newest ones that part of the ranks has yet to report."""
        return compute_time.complete(self.held)

    @cached_property
    def stale(self) -> bool:
        """Return whether the newest step is too old to say anything about now."""
        return compute_time.stale(self.steps, self._now)

    @cached_property
    def own(self) -> Floats | None:
        """Return [ranks, steps], each rank's own seconds in a step; None when nobody reports."""
        kept = self.steps.kept
        return compute_time.compute_time(self.steps) if kept is None else kept.own

    @cached_property
    def ratio(self) -> Floats | None:
        """Return [ranks, steps], own seconds by tokens over those of healthy peers of the role."""
        kept = self.steps.kept
        if kept is not None:
            return kept.ratio
        if self.own is None:
            return None
        by_tokens = compute_time.per_token(self.own, self.steps)
        return compute_time.against_peers(by_tokens, self._role_of)

    @cached_property
    def comm(self) -> Floats:
        """Return [ranks, steps], seconds that a rank waited inside collectives."""
        return self.steps.plane(compute_time.COMM)

    @cached_property
    def data(self) -> Floats:
        """Return [ranks, steps], seconds that a rank waited for its next batch."""
        return self.steps.plane(DATA)

    @cached_property
    def other(self) -> Floats:
        """Return [ranks, steps], seconds of a step that none of its parts explains."""
        left = self.steps.plane(compute_time.STEP).astype(np.float64)
        for name in PARTS:
            if name in self.steps.planes:
                left -= np.nan_to_num(self.steps.planes[name])
        return left

    def parts_of(self, count: int) -> tuple[float, float]:
        """Return what the exchange, and the median rank's own work, take of the newest steps (s).

        NaN where nobody reports that part.
        """
        newest = self.steps.last(count)
        apart = newest.has(compute_time.COMM)
        exchange = medians.known(compute_time.exchange(newest)) if apart else np.nan
        own = self.own if apart else None
        return exchange, np.nan if own is None else medians.known(own[:, -count:].ravel())

    @cached_property
    def step_ends(self) -> Floats:
        """Return [steps], when each step ended on the last of its ranks."""
        return compute_time.step_ends(self.steps)

    @cached_property
    def pace(self) -> tuple[float, float]:
        """Return when the newest step ended and how long one usually takes; NaN where unknown.

        Of the newest 64 steps, those included that part of the ranks has yet to report.
        """
        ends = compute_time.step_ends(self.held)[-64:]
        ends = ends[np.isfinite(ends)]
        if len(ends) < 3:
            return float("nan"), float("nan")
        return float(ends.max()), medians.middle(ends[1:] - ends[:-1])

    def stepped_since(self, at: float) -> bool:
        """Return whether a step began after a moment; False while too few are known to tell."""
        last, usual = self.pace  # NaN, and so no comparison holds, before a few steps
        return at <= last - usual

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, made once a window: for what several detectors look at."""
        if name not in self._made:
            self._made[name] = make()
        return cast("T", self._made[name])

    def once_of_steps(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, made again only where steps changed since the last window.

        For what follows from the steps and `name` alone; not to be changed.
        """
        kept = self.held.kept
        if kept is None:
            return self.once(name, make)
        if name not in kept.made:
            kept.made[name] = make()
        return cast("T", kept.made[name])

    @cached_property
    def loss(self) -> curves.JobCurve:
        """Return the job's loss, a point for each step that has one."""
        memory = None if self._beside is None else self._beside.loss
        return curves.curve(self.steps, self.ranks, curves.LOSS, memory)

    @cached_property
    def gradient(self) -> curves.JobCurve:
        """Return the job's gradient norm, a point for each step that has one."""
        memory = None if self._beside is None else self._beside.gradient
        return curves.curve(self.steps, self.ranks, curves.GRADIENT, memory)

    @cached_property
    def whole_loss(self) -> curves.JobCurve:
        """Return the job's loss since the attempt began, thinned where the window is past it."""
        if self._beside is None:
            return self.loss
        return curves.recent(self._beside.loss.curve, self.loss)

    @cached_property
    def whole_gradient(self) -> curves.JobCurve:
        """Return the job's gradient norm since the attempt began, thinned likewise."""
        if self._beside is None:
            return self.gradient
        return curves.recent(self._beside.gradient.curve, self.gradient)

    @cached_property
    def loss_noise(self) -> float:
        """Return the standard deviation of a loss around its neighbours, see `curves.noise`."""
        return curves.noise(self.whole_loss.value)

    @cached_property
    def duration(self) -> Floats:
        """Return [steps], the median step time over ranks, or gaps between ends; not by tokens.

        Gaps too where most reports hold no duration: a trainer may report one every 20th time. And
        where steps would have taken many times longer than they were apart: another unit.
        """
        kept, steps = self.steps.kept, self.steps
        if steps.has(compute_time.STEP):
            found = (
                medians.median(steps.plane(compute_time.STEP), axis=0)
                if kept is None
                else kept.duration
            )
            if np.isfinite(found).mean() >= FEWEST_REPORTED and self._fits(found):
                return found
        gaps = np.diff(self.step_ends, prepend=np.nan)
        gaps = gaps / np.maximum(np.diff(steps.index, prepend=0), 1)
        return np.where(gaps > 0, gaps, np.nan)

    def _fits(self, duration: Floats) -> bool:
        """Tell whether the newest steps were far enough apart to have lasted so long."""
        newest, ends = duration[-FITTED:], self.step_ends[-FITTED:]
        ends = ends[np.isfinite(ends)]
        span = float(ends[-1] - ends[0]) if len(ends) else 0.0
        # Senders that stamp a whole delivery with one time say nothing about it.
        return not span > 0 or float(np.nansum(newest[1:])) <= UNIT * span

    @cached_property
    def most_tokens(self) -> Floats:
        """Return [steps], the most tokens of a rank in a step; NaN where nobody reports them."""
        if self.steps.kept is not None:
            return self.steps.kept.most_tokens
        return medians.highest(self.steps.plane(compute_time.TOKENS), axis=0)

    @cached_property
    def job_duration(self) -> Floats:
        """Return [steps], the job's step time, by tokens where they explain it.

        As it would be with the tokens that the job's healthy time was learnt with: the tokens of
        the median step grow with every uneven one, and the healthy time does not.
        """
        pace = None if self._beside is None else self._beside.pace
        return self.duration_with(np.nan if pace is None else pace.tokens)

    def duration_with(self, tokens: float) -> Floats:
        """Return [steps], the job's step time as it would be with so many tokens.

        NaN: with those of the median step. As it is where tokens do not explain it; where they do,
        NaN for steps of which part of the ranks has yet to report its own.
        """
        known = tokens if np.isfinite(tokens) else None  # NaN would equal no other NaN
        return self.once_of_steps(("duration", known), lambda: self._duration_with(tokens))

    def _duration_with(self, tokens: float) -> Floats:
        fit = self._job_fit
        if fit is None:
            return self.duration
        freed = fit.freed(self.duration, self.most_tokens, usual=tokens)
        return np.where(self.once_of_steps("partly", self._partly), np.nan, freed)

    def _partly(self) -> Flags:
        """Return [steps], whether the most tokens may be those of a rank that has yet to report.

        What a step took is known from any rank, why it took so long from all of them alone: where
        hosts report seldom and steps are short, scores of the newest ones are known in part.
        """
        tokens = self.steps.plane(compute_time.TOKENS)
        some = np.linspace(0, len(tokens) - 1, min(len(tokens), TOKEN_RANKS)).astype(np.int64)
        share = np.isfinite(tokens[some]).mean(axis=0)
        partly: Flags = share < MOSTLY * medians.middle(share)
        return partly

    @cached_property
    def _job_fit(self) -> compute_time.TokenFit | None:
        """Return how the duration of steps follows from tokens, None where it does not."""
        return self.once_of_steps("fit", self._fit)

    def _fit(self) -> compute_time.TokenFit | None:
        if not self.steps.has(compute_time.TOKENS):
            return None
        # The step waits for the rank with the most tokens. A warm-up is slow for another reason,
        # and a curriculum has its shortest batches just then.
        known = np.flatnonzero(np.isfinite(self.duration))
        warm = known[warmed_up(self.duration[known]) :]
        return compute_time.token_fit(self.duration[warm], self.most_tokens[warm])


def newest_kept(
    steps: StepValues, role_of: Ints, fit: compute_time.TokenFit | None, *, own: str | None
) -> tuple[Floats | None, Floats | None, Floats, Floats]:
    """Return (own, ratio, duration, most tokens) of some columns, as `Kept` holds them.

    own: the plane that compute time is made of, None where there is none.
    """
    duration = medians.median(steps.plane(compute_time.STEP), axis=0)
    most = medians.highest(steps.plane(compute_time.TOKENS), axis=0)
    if own is None:
        return None, None, duration, most
    seconds = compute_time.own_seconds(steps, own)
    freed = seconds if fit is None else fit.freed(seconds, steps.plane(compute_time.TOKENS))
    return seconds, compute_time.against_peers(freed, role_of), duration, most
