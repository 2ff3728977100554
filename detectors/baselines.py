"""What is usual for a job attempt: each rank's habit, healthy step times, the longest healthy gap.

Held beside the attempt, so that it outlives the steps it was learnt of; nothing is learnt while an
incident of the job is open.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from . import curves, medians
from .arrays import Flags, Floats, Ints
from .features import StepFeatures
from .healthy_time import HealthyPace, pace_of, pace_of_few, warmed_up
from .landmarks import LandmarkMemory
from .repeats import RepeatedSteps

WARM_UP = 5
"""Steps at the start of an attempt that say nothing about anybody."""

HABIT_STEPS = 100
"""Steps after the warm-up that a rank's habit is learnt from."""

FEWEST = 5
"""Steps without which no habit is known."""

NEWEST = 5
"""Steps that may belong to what is evaluated now, and not to what is usual."""

FEW, FEW_WARM_UP = 5, 3
"""Steps from which a job of long steps learns what is usual, before it has enough for blocks, and
steps before them that say nothing: each takes a good part of a minute."""

LEARN_AT = (5, 10, 20, 40, 70, 100)
"""Steps after the warm-up at which habits are learnt anew; with the last they are settled."""

MOST_HABIT = 0.1
"""A rank that is slower than its peers by more, and by more than they differ among themselves, was
slow from the first step: that is no habit."""

MOST_RISE = 0.02
"""A rank's ratio may grow by so much between two learnings and stay its habit."""

MOST_RISE_AT_RESTART = 0.08
"""The same between two attempts: more than healthy devices of one model differ."""

SIGMAS = 4.0

BLOCK = 10
"""Steps of the blocks whose medians say what a healthy step time is."""

PARTS_STEPS = 64
"""So many of the newest steps say what a step is made of."""

LEARN_EVERY = 5
"""Steps after which the healthy step time is learnt anew."""


class JobBaselines:
    """Arrays are [rows]; NaN and False where nothing is known yet.

    habit: a rank's usual ratio to its peers, where it is one; usual: the same, however large it is,
    NaN where too few steps are known. longest_gap: the longest time between two steps that
    the job went on after, seconds. pace: its healthy step time, None before it is known; before:
    that of the attempt before this one, None where there was none. frozen: an incident of the job
    is open, and nothing is learnt. loss, gradient: the job's curves since its start, whatever
    happened. nonfinite: steps at which values went non-finite, and landmarks: what ranks said of
    single steps; one memory each for all attempts.
    """

    def __init__(self) -> None:
        self.habit: Floats = np.zeros(0)
        self.usual: Floats = np.zeros(0)
        self.known: Flags = np.zeros(0, np.bool_)
        self.longest_gap = 0.0
        self.pace: HealthyPace | None = None
        self.before: HealthyPace | None = None
        self._ranks: Ints = np.zeros(0, np.int64)
        self._usual_before: tuple[Ints, Floats] = (np.zeros(0, np.int64), np.zeros(0))
        self.frozen = False
        self.recorded: tuple[int, ...] | None = None
        self.learnt: tuple[int, ...] | None = None
        """The state of the steps that were last recorded, and learnt of."""
        self.loss = curves.CurveMemory()
        self.gradient = curves.CurveMemory()
        self.nonfinite = RepeatedSteps()
        self.landmarks = LandmarkMemory()
        self._learnt = 0
        self._newest: float = -np.inf
        self._paced = -LEARN_EVERY

    @property
    def habit_steps(self) -> int:
        """Return the number of steps that habits were learnt from, at least."""
        return self._learnt

    def follow(self, before: JobBaselines) -> None:
        """Take from the attempt before this one its pace, its ranks' habits, and its curves."""
        self.before = before.before if before.pace is None else before.pace
        order = np.argsort(before._ranks, kind="stable")
        held = (before._ranks[order], before.usual[order])
        self._usual_before = held if len(order) else before._usual_before
        self.loss.follow(before.loss)
        self.gradient.follow(before.gradient)
        self.nonfinite = before.nonfinite
        self.landmarks = before.landmarks

    def record(self, features: StepFeatures) -> None:
        """Take in the newest points of the curves: a record of what was, healthy or not."""
        state = features.held.state
        if state is not None and state == self.recorded:
            return  # the very same steps
        self.recorded = state
        self.loss.learn(features.loss)
        self.gradient.learn(features.gradient)

    def learn(self, features: StepFeatures) -> None:
        """Learn from an attempt's steps, without the newest ones."""
        state = features.held.state
        if state is not None and state == self.learnt:
            return
        self.learnt = state
        steps = features.steps
        if not len(steps.index):
            return
        ends = features.step_ends
        ends = ends[np.isfinite(ends)]
        if len(ends) > 2 and float(ends[-1]) > self._newest:
            gaps = np.diff(np.maximum.accumulate(ends))[2:]
            since = gaps[ends[3:] > self._newest]
            self._newest = float(ends[-1])
            self.longest_gap = max(self.longest_gap, float(since.max(initial=0.0)))
        if int(steps.index[-1]) - self._paced >= LEARN_EVERY or int(steps.index[-1]) < self._paced:
            self._paced = int(steps.index[-1])
            self._learn_pace(features)
        early = min(len(steps.index) - WARM_UP - NEWEST, HABIT_STEPS)
        due = max((count for count in LEARN_AT if count <= early), default=0)
        if due > self._learnt or (due and len(steps.at) > len(self.habit)):
            self._learnt = max(due, self._learnt)
            self._habits(features, early)

    def _learn_pace(self, features: StepFeatures) -> None:
        tokens = features.most_tokens[FEW_WARM_UP:-NEWEST]
        tokens = tokens[np.isfinite(tokens)]
        usual = medians.middle(tokens) if len(tokens) else math.nan
        duration = features.duration_with(usual)[FEW_WARM_UP:-NEWEST]
        duration = duration[np.isfinite(duration)]
        if len(duration) < FEW:
            return
        few = len(duration) < 2 * BLOCK + WARM_UP - FEW_WARM_UP
        found = pace_of_few(duration) if few else pace_of(duration[WARM_UP - FEW_WARM_UP :], BLOCK)
        warm = 0 if self.pace is None else self.pace.warm_up  # the first steps leave the window
        if slow := warmed_up(duration):
            warm = max(warm, FEW_WARM_UP + slow)
        exchange, work = features.parts_of(PARTS_STEPS)
        self.pace = replace(
            found,
            tokens=usual,
            ranks=len(features.steps.at),
            warm_up=warm,
            exchange=exchange,
            work=work,
        )

    def _habits(self, features: StepFeatures, early: int) -> None:
        ratio = features.ratio
        if ratio is None:
            return
        past = ratio[:, WARM_UP : WARM_UP + early]
        known = np.isfinite(past).sum(axis=1) >= FEWEST
        usual = self._unless_slower(medians.median(past, axis=1), past, features.ranks)
        self._ranks = features.ranks
        self.usual = np.where(known, usual, np.nan)
        # By how much ranks usually differ: of the faster half, so that the slow do not hide.
        valid = np.sort(usual[known])
        valid = valid[: (len(valid) + 1) // 2]
        spread = medians.spread(valid)
        known &= np.nan_to_num(usual, nan=np.inf) <= 1 + max(MOST_HABIT, SIGMAS * spread)
        self.known = known
        self.habit = np.where(known, np.clip(usual, 0.8, 1.25), 1.0)

    def _unless_slower(self, usual: Floats, past: Floats, ranks: Ints) -> Floats:
        """Return [ranks], the ratios learnt now; the earlier one of a rank that became slower.

        By more than either of them may be wrong: a fault that is not found yet is no habit. Against
        the attempt before by more than hosts differ, since ranks may have moved to others.
        """
        size = min(len(self.usual), len(usual))
        before = np.full(len(usual), np.nan)
        before[:size] = self.usual[:size]
        away = medians.median(np.abs(past - usual[:, None]), axis=1)
        away = away[np.isfinite(away)]
        noise = medians.OF_MEDIAN * medians.OF_MAD * medians.middle(away) if len(away) else 0.0
        most = SIGMAS * noise / math.sqrt(FEWEST)
        rise = np.full(len(usual), max(most, MOST_RISE))
        new = np.isnan(before)
        before[new] = self._before_restart(ranks)[new]
        rise[new] = max(most, MOST_RISE_AT_RESTART)
        with np.errstate(invalid="ignore"):
            return np.where(usual > before + rise, before, usual)

    def _before_restart(self, ranks: Ints) -> Floats:
        """Return [ranks], the ratios of the same ranks in the attempt before, NaN where unknown."""
        held, usual = self._usual_before
        if not len(held):
            return np.full(len(ranks), np.nan)
        place = np.minimum(np.searchsorted(held, ranks), len(held) - 1)
        return np.where(held[place] == ranks, usual[place], np.nan)
