"""Steps that wait for whichever rank was given most tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians, onsets, parts
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow, StepValues

_NEWEST, _FEWEST, _MOST = 120.0, 30, 60
"""The newest range that is looked at: seconds, and steps at least and at most."""

_LONG, _VALUES = 8, 100
"""Steps that suffice at least where they take long, and values of all ranks in them."""


CERTAIN = 5.0
"""Standard errors by which the ranks' tokens must lie farther apart than before. Many, as they are
taken of few steps and asked for again and again."""

UNEVEN = 0.75
"""Steps whose longest rank has this share of what it usually has beyond the mean are uneven."""

FOLLOWS = 0.7
"""Correlation of the durations of steps with the tokens of the longest rank, at least."""


@dataclass(frozen=True, slots=True)
class _TokenSpread:
    """What uneven tokens cost: share of a step, tokens of the longest rank over the mean."""

    lost: float
    longest: float


class SequenceLengthDetector(Detector):
    """Say how much of each step is lost because the ranks' tokens are uneven.

    A parabola in tokens must predict a rank's compute time, and the slowest rank of a step must be
    one with the most tokens, not always the same one. Where ranks report no times of their own, the
    duration of steps must follow the tokens of the longest rank. Lost is what the longest rank is
    predicted to need beyond the mean of all, in the median step, over the step. How long documents
    are belongs to a job: what was so from the first step is info. Where it has become worse, and
    the tokens themselves more uneven (another data source, bucketing switched off), it is a
    warning.

    Parameters
    ----------
    least : share of a step that must be lost where it has become worse.
    from_start : the same where it was so from the first step.
    more : share beyond that of the job's early steps from which on it has become worse.

    Examples
    --------
    From step 150 on one rank of four, another one each step, has half as many tokens again.

    >>> from rankscope.detectors.sketch import sketch
    >>> random = np.random.default_rng(1)
    >>> tokens = random.normal(4000, 80, (4, 300))
    >>> step = np.arange(150, 300)
    >>> tokens[random.integers(0, 4, 150), step] *= 1.5
    >>> window = sketch(tokens / 5000, planes={compute_time.TOKENS: tokens})
    >>> for finding in SequenceLengthDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, f"{finding.magnitude:.2f}", finding.score > 1)
    job.token_imbalance job example 1.27 True

    Fails where tokens are not reported, or padded and equal while attention is not.

    References: What-if analysis of stragglers (OSDI'25): sequence length in 21.4 % of slow jobs;
    ResiHP (2026) for predicting time from tokens.
    """

    name = "sequence_length"
    kinds = ("job.token_imbalance",)
    cadence_seconds = 15.0
    of_steps = True

    def __init__(self, *, least: float = 0.1, from_start: float = 0.2, more: float = 0.06) -> None:
        self.least = least
        self.from_start = from_start
        self.more = more

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding on the job, or none."""
        steps = parts.steps_to_compare(window)
        if steps is None or not steps.has(compute_time.TOKENS):
            return []
        fewest = _fewest(steps)
        if not _differ(steps.last(fewest), 0.6 * self.least):
            return []
        own = window.features.own
        alone = compute_time.own_plane(steps) == compute_time.STEP
        count = min(compute_time.recent_count(window.steps, seconds=_NEWEST, fewest=fewest), _MOST)
        if own is None or len(steps.index) < parts.WARM_UP + fewest:
            return []
        recent, newest = steps.last(count), own[:, -count:]
        spread = _by_steps if alone else _spread
        now = spread(recent, newest)
        if now is None or now.lost < self.least or not (alone or _follows(recent, newest)):
            return []
        early = steps.cut(parts.WARM_UP, min(parts.WARM_UP + _MOST, len(steps.index) - count))
        habit = None
        if len(early.index) >= fewest:
            habit = spread(early, own[:, parts.WARM_UP : parts.WARM_UP + len(early.index)])
        worse = now.lost - (habit.lost if habit is not None else now.lost)
        if habit is None and len(steps.index) >= parts.WARM_UP + count + fewest:
            worse = now.lost  # tokens explained nothing before
        worse = min(worse, now.lost * _newly_uneven(early, recent))
        if worse < self.more and now.lost < self.from_start:
            return []
        since = _since(steps, recent)
        before = steps.cut(0, len(steps.index) - len(since.index))
        # Too few steps for a warning may well show that the first ones were even.
        new = max(worse, now.lost * _newly_uneven(before, since))
        begun = compute_time.step_ends(since if new >= self.more else steps)
        begun = begun[np.isfinite(begun)]
        return [
            report(
                window,
                self.name,
                "job.token_imbalance",
                window.entity,
                onset=float(begun[0]),
                magnitude=1 / (1 - min(now.lost, 0.9)),
                score=1.0 + worse / self.more if worse >= self.more else 0.5,
                signal=compute_time.TOKENS,
                observed=now.longest,
                expected=1.0,
                text=f"the longest rank has {now.longest:.2f} times the mean tokens of a step, "
                f"which costs {now.lost:.0%} of the step",
            )
        ]


def _newly_uneven(early: StepValues, recent: StepValues) -> float:
    """Return the share of what the longest rank has beyond the mean that it had not before.

    0 where tokens are as uneven as ever, or nobody knows how uneven they were: a token that costs
    more than before (a host without CPU time, another kernel) is no matter of lengths. Whether they
    are is told by all ranks: the longest one of a few steps may be much longer by chance.
    """
    before, now = _apart(early), _apart(recent)
    if min(len(before), len(now)) < parts.FEWEST:
        return 0.0
    error = math.sqrt(float(before.var(ddof=1)) / len(before) + float(now.var(ddof=1)) / len(now))
    if float(now.mean() - before.mean()) <= CERTAIN * error:
        return 0.0
    usual, newest = (medians.known(most) for most in (_uneven(early), _uneven(recent)))
    return max(newest - usual, 0.0) / (newest - 1)


def _since(steps: StepValues, recent: StepValues) -> StepValues:
    """Return the steps since tokens are as uneven as in the recent ones, and not as before."""
    most = _uneven(steps)
    before, now = (
        medians.known(values)
        for values in (most[parts.WARM_UP : -len(recent.index)], _uneven(recent))
    )
    with np.errstate(invalid="ignore"):
        odd = most > (before + now) / 2
    first = onsets.newest_run(odd) if odd.any() else len(odd) - len(recent.index)
    return steps.last(len(odd) - first)


def _fewest(steps: StepValues) -> int:
    """Return how many steps say what tokens cost: fewer where steps are long and ranks many."""
    enough = max(_LONG, math.ceil(_VALUES / max(len(steps.plane(compute_time.TOKENS)), 1)))
    step = parts.step_seconds(steps)
    held = _NEWEST / step if step > 0 else _FEWEST
    return int(min(max(held, enough), _FEWEST))


def _differ(steps: StepValues, least: float) -> bool:
    """Tell whether the longest rank's tokens exceed the usual by a share; a look at a few ranks."""
    tokens = _tokens(steps)
    few = tokens[np.linspace(0, len(tokens) - 1, min(len(tokens), 1024)).astype(np.int64)]
    usual, most = medians.median(few, axis=0), medians.highest(tokens, axis=0)
    with np.errstate(invalid="ignore"):
        return bool(np.mean(most >= (1 + least) * usual) >= 0.25)


def _spread(steps: StepValues, own: Floats) -> _TokenSpread | None:
    """Return what uneven tokens cost in the median step; None where they do not explain time."""
    tokens = _tokens(steps)
    fit = compute_time.token_fit(own, tokens)
    step = parts.step_seconds(steps)
    if fit is None or not step > 0:
        return None
    predicted: Floats = np.polyval(np.array(fit.powers), tokens / fit.scale).astype(np.float64)
    known = np.isfinite(predicted) & np.isfinite(own)
    columns = known.sum(axis=0) >= 2
    if columns.sum() < _fewest(steps) // 2:
        return None
    mean = _mean(predicted, known)[columns]
    longest = medians.highest(np.where(known, predicted, np.nan), axis=0)[columns]
    beyond = (longest - mean) / step
    longest_rank = medians.middle(_uneven(steps)[columns])
    return _TokenSpread(medians.middle(beyond), longest_rank)


def _by_steps(steps: StepValues, own: Floats) -> _TokenSpread | None:
    """Return the same by the durations of steps; None where the longest rank does not explain them.

    All ranks end a step together, so each step is one point: its duration, its longest rank.
    """
    tokens = _tokens(steps)
    longest, mean = medians.highest(tokens, axis=0), _mean(tokens, np.isfinite(tokens))
    duration = medians.highest(own, axis=0)
    known = np.isfinite(longest) & np.isfinite(duration) & (mean > 0)
    if known.sum() < max(_fewest(steps) // 2, 3):
        return None
    longest, mean, duration = longest[known], mean[known], duration[known]
    # A pause in one step says nothing about tokens.
    usual = duration <= 2 * medians.middle(duration)
    x, y = longest[usual] - longest[usual].mean(), duration[usual] - duration[usual].mean()
    width, height = float(x @ x), float(y @ y)
    if not width > 0 or not height > 0 or float(x @ y) < FOLLOWS * (width * height) ** 0.5:
        return None
    step = medians.middle(duration)
    beyond = float(x @ y) / width * (longest - mean) / step
    return _TokenSpread(medians.middle(beyond), medians.middle(longest / mean))


def _apart(steps: StepValues) -> Floats:
    """Return [steps], the standard deviation of the ranks' tokens over their mean."""
    tokens = _tokens(steps)
    known = np.isfinite(tokens)
    mean = _mean(tokens, known)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart: Floats = np.sqrt(_mean((tokens - mean) ** 2, known)) / mean
    return apart[known.any(axis=0) & (mean > 0)]


def _uneven(steps: StepValues) -> Floats:
    """Return [steps], the tokens of the longest rank over the mean of all."""
    tokens = _tokens(steps)
    with np.errstate(invalid="ignore", divide="ignore"):
        uneven: Floats = medians.highest(tokens, axis=0) / _mean(tokens, np.isfinite(tokens))
    return uneven


def _tokens(steps: StepValues) -> Floats:
    tokens = steps.plane(compute_time.TOKENS)
    return np.where(np.abs(tokens) < compute_time.MOST, tokens, np.nan)


def _mean(values: Floats, known: np.ndarray) -> Floats:
    total: Floats = np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return total


def _follows(steps: StepValues, own: Floats) -> bool:
    """Tell whether the slowest rank of a step has about the most tokens, and changes.

    In the steps that are uneven: before a rank had more than all others for good, chance chose.
    """
    tokens = _tokens(steps)
    both = np.isfinite(own) & np.isfinite(tokens)
    uneven = np.nan_to_num(_uneven(steps), nan=1.0)
    least = 1 + UNEVEN * (medians.middle(uneven) - 1)
    columns = np.flatnonzero((both.sum(axis=0) >= 2) & (uneven >= least))
    if not len(columns):
        return False
    own, tokens = (
        np.where(both, own, -np.inf)[:, columns],
        np.where(both, tokens, -np.inf)[:, columns],
    )
    slowest = own.argmax(axis=0)
    most = tokens.max(axis=0)
    agrees = tokens[slowest, np.arange(len(columns))] >= 0.95 * most
    usual = np.bincount(slowest).max() / len(columns)
    return bool(agrees.mean() >= 0.6 and usual <= (0.85 if len(own) == 2 else 0.6))
