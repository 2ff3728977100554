"""Batches that one rank alone had a high loss of: replicas have the same weights, and other data.

So where the loss of a rank jumps, the losses of its peers in the same steps do not, and it is as
theirs again a few steps later, weights are no reason: the batches are, or its device for as long.
A single batch that is odd is usual; several in a row are a part of the data.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...vocabulary.findings import Finding
from .. import medians
from ..findings import INFORMATION, report
from ..window import Floats, JobWindow
from . import step_batches
from .step_batches import StepBatch

BEFORE, FEWEST = 32, 8
"""Steps before that say where losses stood, and without which nothing is said."""
SHARED = 0.5
"""Peers whose losses rose by such a share of the rank's rise have the same reason."""
SIGMAS, LEAST = 6.0, 0.1
"""Standard deviations of the usual difference between the rank and its peers, and the share of the
level, by which it has to be larger: after a jump of the job's loss all of them stray."""
BACK = 3
"""Steps in a row with a loss below the middle of the rise: it came back."""
IN_A_ROW, GAP = 2, 2
"""High steps that make a part of the data, and the most steps from one to the next."""

_LOSSES = ("training.loss|local", "training.loss")


class LoneBatch(NamedTuple):
    """A batch with the loss of its rank, that rank's level, and the median of its peers' losses."""

    said: StepBatch
    loss: float
    level: float
    peers: float


def found(window: JobWindow, said: Iterable[StepBatch]) -> list[LoneBatch]:
    """Return the batches of suspicious steps that one rank alone had a high loss of."""
    steps = window.steps
    plane = next((steps.planes[name] for name in _LOSSES if name in steps.planes), None)
    if plane is None or len(plane) < 2:
        return []
    lone: list[LoneBatch] = []
    for one in said:
        if one.event.attributes.get("reason") != "spike":
            continue
        column = int(np.searchsorted(steps.index, one.step))
        if column >= len(steps.index) or steps.index[column] != one.step:
            continue
        near = plane[:, max(column - BEFORE, 0) : column + 1]
        own, theirs = near[one.row], _medians(np.delete(near, one.row, axis=0))
        known = np.isfinite(own) & np.isfinite(theirs)
        if not known[-1] or known.sum() <= FEWEST:
            continue
        own, theirs = own[known], theirs[known]
        loss, level, peers = float(own[-1]), medians.middle(own[:-1]), float(theirs[-1])
        rise, apart = loss - level, own - theirs
        beyond = float(apart[-1]) - medians.middle(apart[:-1])
        limit = max(SIGMAS * medians.spread(apart[:-1]), LEAST * abs(level), SHARED * rise)
        if not beyond > limit:
            continue
        after = plane[one.row, column + 1 :]
        low = after[np.isfinite(after)] < level + SHARED * rise
        if len(low) >= BACK and (np.convolve(low, np.ones(BACK), mode="valid") >= BACK).any():
            lone.append(LoneBatch(one, loss, level, peers))
    return sorted(lone, key=lambda one: (one.said.row, one.said.step))


def _medians(values: Floats) -> Floats:
    """Return [steps], the medians of values [ranks, steps]; NaN where no rank has one."""
    found = np.full(values.shape[1], np.nan)
    some = np.isfinite(values).any(axis=0)
    found[some] = np.nanmedian(np.where(np.isfinite(values), values, np.nan)[:, some], axis=0)
    return found


def unusual(window: JobWindow, detector: str, lone: Sequence[LoneBatch]) -> list[Finding]:
    """Return that a rank had several such batches in a row; the first such rank is named.

    The job goes on, and an average over many ranks does not show it: information.
    """
    runs: list[list[LoneBatch]] = []
    for one in lone:
        last = runs[-1][-1].said if runs else None
        follows = last is not None and last.row == one.said.row
        if last is not None and follows and 0 < one.said.step - last.step <= GAP:
            runs[-1].append(one)
        else:
            runs.append([one])
    runs = [run for run in runs if len(run) >= IN_A_ROW]
    if not runs:
        return []
    run = min(runs, key=lambda run: run[0].said.step)
    first, last = run[0], run[-1].said
    rank = int(window.ranks[first.said.row])
    return [
        report(
            window,
            detector,
            "job.data_unusual",
            window.entity,
            onset=first.said.event.at,
            seen=(first.said.event.at, last.event.at),
            score=INFORMATION,
            magnitude=float(len(run)),
            signal=step_batches.BATCH,
            observed=first.loss,
            expected=first.level,
            text=f"from step {first.said.step} to {last.step} the loss of rank {rank} was high "
            f"({first.loss:.3g}, usually {first.level:.3g}), that of its peers with the same "
            f"weights was not ({first.peers:.3g}), and it came back: its batches, from "
            f"{step_batches.named(first.said.event)} on, are unlike the others, or its device "
            "computed wrong for so long",
            ranks=[rank],
        )
    ]


def evidence(window: JobWindow, detector: str, lone: Sequence[LoneBatch]) -> list[Finding]:
    """Return the first such batch as one that is unusual, for a job whose own loss jumped."""
    if not lone:
        return []
    one = min(lone, key=lambda one: (one.said.step, one.said.row))
    rank = int(window.ranks[one.said.row])
    return [
        report(
            window,
            detector,
            "job.batch_unusual",
            window.entity,
            onset=one.said.event.at,
            seen=(one.said.event.at, one.said.event.at),
            score=2.0,
            signal=step_batches.BATCH,
            observed=one.loss,
            expected=one.level,
            text=f"in step {one.said.step} the batch of rank {rank} "
            f"({step_batches.named(one.said.event)}) was unlike those before it: its loss is "
            f"{one.loss:.3g}, usually {one.level:.3g}, and that of its peers {one.peers:.3g}",
            ranks=[rank],
        )
    ]
