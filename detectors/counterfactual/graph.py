"""The dependencies of a synchronous step: who waits for whom, group by group.

Members of a tensor- or expert-parallel group meet in every layer: each gets on as the slowest.
Stages of a pipeline hand micro-batches on: the slowest sets the beat, and filling and draining cost
one beat of every stage. At the reduction of gradients everybody meets.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Floats, Ints
from ..window import JobWindow

BATCHES_A_STAGE = 4
"""Micro-batches a stage where nobody reports them: with fewer a pipeline idles a good part of a
step. A step without a cause depends little on it, see `StepGraph.span`."""


@dataclass(frozen=True, slots=True)
class GroupWork:
    """[groups, steps]: when the last member has its batch, and the longest work of a member (s)."""

    ready: Floats
    busy: Floats


@dataclass(frozen=True)
class StepGraph:
    """The groups of one job: `group_of` [rows], the group in which a rank meets others all along.

    Without a pipeline `stages` is 1. Else group g is stage g % stages of replica g // stages.
    """

    group_of: Ints
    stages: int = 1

    @cached_property
    def groups(self) -> int:
        """Return how many groups there are."""
        whole = int(self.group_of.max(initial=-1)) + 1
        return -(-whole // self.stages) * self.stages

    def meet(self, ready: Floats, busy: Floats, rows: Ints | None = None) -> GroupWork:
        """Return the work of groups by that of some rows (None: all), both [rows, steps].

        A group without any of them is never waited for.
        """
        group = self.group_of if rows is None else self.group_of[rows]
        if self.groups == 1:
            own = np.where(np.isfinite(busy), ready + busy, -np.inf)
            most = np.max(own, axis=0, keepdims=True, initial=-np.inf)
            return GroupWork(np.where(np.isfinite(most), 0.0, -np.inf), most)
        return GroupWork(self._longest(ready, group), self._longest(busy, group))

    def _longest(self, values: Floats, group: Ints) -> Floats:
        found = np.full((self.groups, values.shape[1]), -np.inf)
        order = np.argsort(group, kind="stable")
        ordered = group[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        if len(starts):
            known = np.where(np.isfinite(values), values, -np.inf)[order]
            found[ordered[starts]] = np.maximum.reduceat(known, starts, axis=0)
        return found

    def span(self, work: GroupWork) -> Floats:
        """Return [steps], how long it takes until everybody meets (s), 0 where nobody works.

        In a pipeline of m micro-batches: (m - 1) beats of the slowest stage, and one of each.
        """
        ready, busy = np.maximum(work.ready, 0.0), np.maximum(work.busy, 0.0)
        if self.stages == 1:
            whole: Floats = np.max(ready + busy, axis=0)
            return whole
        shape = (len(busy) // self.stages, self.stages, busy.shape[1])
        stage, first = busy.reshape(shape), ready.reshape(shape).max(axis=1)
        batches = BATCHES_A_STAGE * self.stages
        beats = ((batches - 1) * stage.max(axis=1) + stage.sum(axis=1)) / batches
        found: Floats = np.max(first + beats, axis=0)
        return found


def join(one: GroupWork, other: GroupWork) -> GroupWork:
    """Return the work of groups of which some members are in one, the others in the other."""
    return GroupWork(np.maximum(one.ready, other.ready), np.maximum(one.busy, other.busy))


def graph_of(window: JobWindow) -> StepGraph:
    """Return the graph of a job by its placement; of one whose layout nobody reports: one group."""
    rows = len(window.ranks)
    alone = StepGraph(np.zeros(rows, np.int64))
    placed = window.topology
    if len(placed.ranks) != rows:
        return alone
    dp, tp, pp, ep = (
        np.frombuffer(column, np.int64) for column in (placed.dp, placed.tp, placed.pp, placed.ep)
    )
    if not rows or (dp < 0).any():
        return alone
    replica = np.unique(dp, return_inverse=True)[1]
    stages = np.unique(pp) if (pp >= 0).all() else pp[:0]
    if len(stages) > 1:
        stage = np.searchsorted(stages, pp)
        return StepGraph(replica * len(stages) + stage, len(stages))
    if (ep >= 0).all() and ep.any():
        members = len(np.unique(ep))
        near = np.stack([dp // members, tp], axis=1)
        return StepGraph(np.unique(near, axis=0, return_inverse=True)[1].reshape(-1))
    return StepGraph(replica) if (tp >= 0).all() and tp.any() else alone
