"""What is usual for a job attempt: each rank's habit, healthy step times, the longest healthy gap.

Held beside the attempt, so that it outlives the steps it was learnt of; nothing is learnt while an
incident of the job is open.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from . import curves, own_time

if TYPE_CHECKING:
    from .features import StepFeatures
    from .window import Flags, Floats

WARM_UP = 5
"""Steps at the start of an attempt that say nothing about anybody."""

HABIT_STEPS = 100
"""Steps after the warm-up that a rank's habit is learnt from."""

FEWEST = 10
"""Steps without which no habit is known."""

NEWEST = 5
"""Steps that may belong to what is evaluated now, and not to what is usual."""

LEARN_AT = (10, 20, 40, 70, 100)
"""Steps after the warm-up at which habits are learnt anew; with the last they are settled."""

MOST_HABIT = 0.1
"""A rank that is slower than its peers by more, and by more than they differ among themselves, was
slow from the first step: that is no habit."""

SIGMAS = 4.0

HEALTHY_QUANTILE = 0.15


class Baselines:
    """Arrays are [rows]; NaN and False where nothing is known yet.

    habit: a rank's usual ratio to its peers. longest_gap: the longest time between two steps that
    the job went on after, seconds. healthy_seconds: the fast side of its step times, NaN before it
    is known. frozen: an incident of the job is open, and nothing is learnt. loss, gradient: the
    job's curves since its start, whatever happened.
    """

    def __init__(self) -> None:
        self.habit: Floats = np.zeros(0)
        self.known: Flags = np.zeros(0, np.bool_)
        self.data_wait: Floats = np.zeros(0)
        self.longest_gap = 0.0
        self.healthy_seconds = math.nan
        self.frozen = False
        self.loss = curves.CurveMemory()
        self.gradient = curves.CurveMemory()
        self._learnt = 0
        self._newest: float = -np.inf

    def follow(self, before: Baselines) -> None:
        """Take from the attempt before this one where its training stood."""
        self.loss.follow(before.loss)
        self.gradient.follow(before.gradient)

    def record(self, features: StepFeatures) -> None:
        """Take in the newest points of the curves: a record of what was, healthy or not."""
        self.loss.learn(features.loss)
        self.gradient.learn(features.gradient)

    def learn(self, features: StepFeatures, *, newest: int = NEWEST) -> None:
        """Learn from an attempt's steps, without the newest ones."""
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
        duration = features.job_duration[WARM_UP:-newest]
        duration = duration[np.isfinite(duration)]
        if len(duration) >= FEWEST:
            self.healthy_seconds = float(np.quantile(duration, HEALTHY_QUANTILE))
        early = min(len(steps.index) - WARM_UP - newest, HABIT_STEPS)
        due = max((count for count in LEARN_AT if count <= early), default=0)
        if due > self._learnt or (due and len(steps.at) > len(self.habit)):
            self._learnt = max(due, self._learnt)
            self._habits(features, early)

    def _habits(self, features: StepFeatures, early: int) -> None:
        ratio = features.ratio
        if ratio is None:
            return
        past = ratio[:, WARM_UP : WARM_UP + early]
        known = np.isfinite(past).sum(axis=1) >= FEWEST
        usual = own_time.median(past, axis=1)
        # By how much ranks usually differ: of the faster half, so that the slow do not hide.
        valid = np.sort(usual[known])
        valid = valid[: (len(valid) + 1) // 2]
        spread = 0.0
        if len(valid):
            spread = 1.4826 * float(np.median(np.abs(valid - np.median(valid))))
        known &= np.nan_to_num(usual, nan=np.inf) <= 1 + max(MOST_HABIT, SIGMAS * spread)
        self.known = known
        self.habit = np.where(known, np.clip(usual, 0.8, 1.25), 1.0)
        wait = features.data[:, WARM_UP : WARM_UP + early]
        self.data_wait = own_time.median(wait, axis=1)
