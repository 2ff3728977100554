"""Steps that take longer than this job's own healthy steps."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, durations, medians, onsets
from ..baselines import FEW, FEW_WARM_UP, JobBaselines
from ..contract import Detector
from ..findings import INFORMATION, report
from ..healthy_time import pace_of, pace_of_few, warmed_up
from ..pace import (
    CERTAINTY,
    EXCERPT,
    EXCERPT_APART,
    EXCERPT_PAST,
    FEW_SCALES,
    FROM_START,
    GRADUAL,
    PaceScale,
    SlowSteps,
    covered,
    slower,
)
from ..window import Floats, Ints, JobWindow
from .more_work import holds_more
from .newest import first_reported
from .since_change import slow_since_change

FEW_CERTAINTY = 0.002
"""What the noise of few steps never goes below, as a share of the step."""

ATTEMPT_SIGMAS = 4.0
"""How far beyond its noise an attempt stands above the one before it: they are compared once, and
not at every step."""

MOST_FEW = 30
"""From so many steps on blocks of them say more."""

MORE_TOKENS, FEWER_TOKENS = 0.02, 0.1
"""An attempt with so much larger batches than the one before is not compared with it; neither is
one whose batches are so much smaller, which is no reason to be slower and yet another job."""

LEAST_EPISODE = 1.15
"""The ratio that makes a step part of an episode."""

EPISODE_SIGMAS = 2.5
"""How far beyond what steps stray by it stands, at least."""

FEWEST_LONG = 10
"""Steps of episodes, without which none are looked for in a job that is not slow now."""


class SlowStepsDetector(Detector):
    """Compare the newest steps with this job's own healthy ones.

    The median duration of the newest steps stands against the fast side of blocks as long as they
    are, and against how far those blocks wander (slow drift, as of temperature), freed of tokens
    where they explain durations. Several lengths are looked at: a few steps for large effects, a
    minute for 6 %, three minutes for 4 %; each decides by the job's own noise. While an incident is
    open the healthy time is the one learnt before it (baselines.py). Two episodes or more, gone
    and back, are one finding that stays between them. Where steps are slow from the first on, the
    healthy time of the attempt before is what they stand against: code changes at restarts.
    Where a change of code, configuration, driver or image is reported, the steps after it stand
    against those before it (since_change.py): 3 % are enough.
    Ranks that go together take the same time for a step, so that steps which one host has reported
    are a first word about all of them, which scores below 1.
    What grows by less than 8 % and little by little, or when the past is too short to show how far
    the job drifts, scores below 1; so do steps that hold as much more work, as devices that are as
    active as before show (more_work.py): batches grow while nobody reports tokens.
    Slowness that needs no healthy past, by a rank's excess over its peers, is reported by
    stragglers.py.

    Parameters
    ----------
    least : smallest ratio worth a finding, however long it lasts.
    sigmas : how many robust standard errors the newest median must stand above the healthy one.
    warm_up : steps at the start of an attempt that say nothing about health.
    blocks : how many blocks of steps a past must hold before it can be called healthy.
    over_at : when the job was over, where that is known, s since the epoch: few steps until then
        are enough, where all of the newest take half as long again as those before.

    Examples
    --------
    Every step takes a quarter longer from step 40 on.

    >>> from rankscope.detectors.sketch import sketch
    >>> own = np.random.default_rng(7).normal(0.8, 0.008, (4, 60))
    >>> own[:, 40:] *= 1.25
    >>> window = sketch(own)
    >>> (slow,) = SlowStepsDetector().evaluate(window)
    >>> int(np.searchsorted(window.steps.at[0], slow.onset[1])), round(slow.magnitude, 2)
    (40, 1.2)

    With a noise of s per step, n steps show an effect of sigmas x 1.25 s / sqrt(n): at 4 % noise
    4 % within 60 steps.

    Fails for the first attempt that was slow from its first step (nothing to compare with), for
    slowness in bursts shorter than half of the shortest length, for growth below 4 %, and accuses
    batches that grow while nobody reports tokens, nor what devices calculate.

    References: Greyhound (ATC'25) for step-time change points with verification; Page (1954) for
    the cumulative sum that dates small effects.
    """

    name = "slow_steps"
    kinds = ("job.slow",)
    of_steps = True

    def __init__(
        self,
        *,
        least: float = 1.04,
        sigmas: float = 5.0,
        warm_up: int = 5,
        blocks: int = 4,
        over_at: float = math.inf,
    ) -> None:
        self.least = least
        self.sigmas = sigmas
        self.warm_up = warm_up
        self.blocks = blocks
        self.over_at = over_at

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return at most one finding, on the job."""
        key = (SlowStepsDetector, *vars(self).values())
        return window.features.once(key, lambda: self._evaluated(window) or self._at_end(window))

    def _at_end(self, window: JobWindow) -> Sequence[Finding]:
        if window.now < self.over_at or window.features.stale:
            return []
        ends = window.features.step_ends
        found = self._by_excerpt(window.features.job_duration)
        return [] if found is None else [self._finding(window, found, ends)]

    def _evaluated(self, window: JobWindow) -> Sequence[Finding]:
        steps = window.features.steps
        if len(steps.index) < 10 or window.features.stale:
            return []
        duration = window.features.job_duration
        valid = np.flatnonzero(np.isfinite(duration))
        valid = valid[valid >= self.warm_up]
        if len(valid) < FEW:
            return []
        ends = window.features.step_ends
        # What was slow from the first step on and is over was a warm-up, and no episode.
        settled = valid[warmed_up(duration[valid]) :]
        found = self._by_history(duration, settled, ends, window.baselines)
        found = found or self._by_few(duration, ends)
        found = self._recurring(duration, settled, ends, found) or found
        if found is not None and holds_more(
            window, float(ends[found.first]), found.recent / found.healthy
        ):
            said = ", and hold as much more work: devices are as active as before"
            found = replace(found, works=True, said=found.said + said)
        if found is None:
            found = self._by_attempt(window, valid, ends)
        if found is None:
            found = slow_since_change(window, duration, ends, sigmas=self.sigmas)
        if found is None:
            found, ends = self._by_first_reports(window)
        return [] if found is None else [self._finding(window, found, ends)]

    def _finding(self, window: JobWindow, found: SlowSteps, ends: Floats) -> Finding:
        ratio = found.recent / found.healthy
        sure = (found.recent - found.healthy) / max(found.noise, 1e-12) / self.sigmas
        little = found.partly or found.works or (found.drifts and ratio < GRADUAL)
        most = INFORMATION if little else math.inf
        onset = float(ends[found.first])
        step = int(window.steps.index[found.first])
        return report(
            window,
            self.name,
            "job.slow",
            window.entity,
            onset=(min(float(ends[max(found.first - 1, 0)]), onset), onset),
            seen=(float(ends[-found.count]), float(ends[-1])),
            magnitude=ratio,
            score=max(min((ratio - 1) / (found.least - 1), sure, most), 0.0),
            signal=compute_time.STEP,
            observed=found.recent,
            expected=found.healthy,
            text=f"steps take {durations.seconds(found.recent)} instead of "
            f"{durations.seconds(found.healthy)} "
            f"({100 * (ratio - 1):.0f} % longer) since step {step}{found.said}",
        )

    def _by_history(
        self, duration: Floats, valid: Ints, ends: Floats, baselines: JobBaselines
    ) -> SlowSteps | None:
        """Return what the newest steps show against older ones of the attempt."""
        held = baselines.pace if baselines.frozen else None
        found = slower(
            duration[valid], ends[valid], held,
            least=self.least, sigmas=self.sigmas, blocks=self.blocks,
        )  # fmt: skip
        return None if found is None else replace(found, first=int(valid[found.first]))

    def _by_first_reports(self, window: JobWindow) -> tuple[SlowSteps | None, Floats]:
        """Return what steps show that only part of the ranks has reported yet, and when they ended.

        Ranks that go together take the same time for a step: one host's report tells it for all,
        and is enough for a first word.
        """
        duration, ends = first_reported(window), compute_time.step_ends(window.steps)
        if duration is None:
            return None, ends
        valid = np.flatnonzero(np.isfinite(duration))
        valid = valid[valid >= self.warm_up]
        found = self._by_history(duration, valid, ends, window.baselines)
        return None if found is None else replace(found, partly=True), ends

    def _by_few(self, duration: Floats, ends: Floats) -> SlowSteps | None:
        """Return what the newest of few steps show against all those before them."""
        valid = np.flatnonzero(np.isfinite(duration))
        valid = valid[valid >= FEW_WARM_UP]
        if len(valid) >= MOST_FEW:
            return None
        values = duration[valid]
        for scale in FEW_SCALES:
            count = covered(ends[valid], scale)
            newest, past = values[-count:], values[:-count]
            if len(past) < FEW:
                break
            healthy, now = pace_of_few(past), pace_of_few(newest)
            recent, grown = now.seconds, now.seconds - healthy.seconds
            noise = math.hypot(healthy.wander, now.wander) + FEW_CERTAINTY * recent
            limit = healthy.seconds + grown / 2
            if (
                recent >= max(scale.least, self.least) * healthy.seconds
                and grown >= self.sigmas * noise
                and (newest <= limit).sum() <= count // 5
                and (past > limit).sum() <= 1
            ):
                first = onsets.newest_run(values > limit)
                return SlowSteps(
                    healthy.seconds, recent, int(valid[first]), noise, scale.least, count
                )
        return None

    def _by_excerpt(self, duration: Floats) -> SlowSteps | None:
        """Return what the last steps of a job show against the few before them.

        The first of all says nothing, and no step of before takes nearly as long as one of these.
        """
        valid = np.flatnonzero(np.isfinite(duration))[1:]
        if len(valid) >= MOST_FEW:
            return None
        values = duration[valid]
        for count in range(EXCERPT.fewest, len(values) - EXCERPT_PAST + 1):
            newest, past = values[-count:], values[:-count]
            healthy, now = pace_of_few(past), pace_of_few(newest)
            noise = math.hypot(healthy.wander, now.wander) + FEW_CERTAINTY * now.seconds
            # Steps that get slower and slower lie apart by that, which is no noise.
            beyond = now.seconds - healthy.seconds >= self.sigmas * noise
            beyond |= newest.min() - healthy.seconds >= self.sigmas * healthy.spread
            if (
                beyond
                and now.seconds >= EXCERPT.least * healthy.seconds
                and newest.min() >= EXCERPT_APART * past.max()
            ):
                return SlowSteps(
                    healthy.seconds, now.seconds, int(valid[-count]), noise, EXCERPT.least, count
                )
        return None

    def _recurring(
        self, duration: Floats, valid: Ints, ends: Floats, found: SlowSteps | None
    ) -> SlowSteps | None:
        """Return that episodes come and go, in one of them or between two."""
        values = duration[valid]
        middle = medians.middle(values)
        if found is None and (values > LEAST_EPISODE * middle).sum() < FEWEST_LONG:
            return None  # as mostly: whatever steps stray by
        # What steps stray by from one to the next is no episode.
        strays = medians.from_one_to_next(values)
        longer = max(LEAST_EPISODE, 1 + EPISODE_SIGMAS * strays / middle)
        if found is None and (values > longer * middle).sum() < FEWEST_LONG:
            return None
        healthy = found.healthy if found is not None else pace_of(values, 5).seconds
        fewest = covered(ends[valid], PaceScale(5, 10.0, 1.0))
        runs = onsets.episodes(values > longer * healthy, fewest)
        again = onsets.recurring(runs, ends[valid], float(ends[-1]), ongoing=found is not None)
        if again is None:
            return None
        place, count = again
        said = f", in {count} episodes"
        if found is not None:
            return SlowSteps(
                found.healthy, found.recent, min(int(valid[place]), found.first), found.noise,
                found.least, found.count, said,
            )  # fmt: skip
        overall = float(np.mean(np.minimum(values[place:], 10 * healthy)))
        if overall < 1.03 * healthy:
            return None
        return SlowSteps(healthy, overall, int(valid[place]), 0.005 * healthy, 1.03, fewest, said)

    def _by_attempt(self, window: JobWindow, valid: Ints, ends: Floats) -> SlowSteps | None:
        """Return that the attempt is slower, from its first step on, than the one before it."""
        before, ranks = window.baselines.before, len(window.ranks)
        if before is None or before.ranks != ranks:
            return None
        # What the attempt before took to warm up this one takes too.
        valid = valid[valid >= before.warm_up]
        count = covered(ends[valid], FROM_START)
        if len(valid) < count or not before.seconds > 0:
            return None
        tokens = window.features.most_tokens
        tokens = tokens[np.isfinite(tokens)]
        usual = medians.middle(tokens) if len(tokens) else math.nan
        if (
            math.isfinite(before.tokens) != math.isfinite(usual)
            or usual > (1 + MORE_TOKENS) * before.tokens
            or usual < (1 - FEWER_TOKENS) * before.tokens
        ):
            return None
        # As they would be with the tokens of the attempt before, where tokens explain them.
        values = window.features.duration_with(before.tokens)[valid]
        recent = medians.middle(values[-count:])
        # A step takes longer by the share of its tokens at most.
        more = max(usual / before.tokens, 1.0) if before.tokens > 0 else 1.0
        healthy = before.seconds * more
        pace = pace_of(values, min(count, 10))
        # Devices warm up, hosts get busier: what the attempt before went through is no change. And
        # so few steps may lie anywhere that their own spread allows.
        wander = math.hypot(pace.wander, pace_of_few(values).wander)
        noise = math.hypot(max(before.wander, before.drift), wander) + CERTAINTY * healthy
        slow = pace.seconds >= FROM_START.least * healthy
        if not slow or pace.seconds - healthy < ATTEMPT_SIGMAS * noise:
            return None
        said = f": slower than attempt {window.attempt - 1} was"
        return SlowSteps(healthy, recent, 0, noise, FROM_START.least, count, said)
