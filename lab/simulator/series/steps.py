"""The per-step series of every rank: one time stamp a step, its end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import Scalar, attributes
from ..shape import SimulatedJob
from ..site import SimulatedSite
from ..training import SimulatedAttempt
from . import SimulatedSeries
from .resources import of_job

Array = NDArray[np.float64]


def series(attempt: SimulatedAttempt, site: SimulatedSite) -> list[SimulatedSeries]:
    """Return the step series of an attempt, for the ranks and steps that are reported."""
    steps, job, seats = attempt.steps, attempt.job, attempt.seats
    if not steps.index:
        return []
    end = np.stack(steps.end)
    by_log = job.reported_by == "log"
    found = []
    rows = _logged(attempt, end) if by_log else _probed(attempt, site, end)
    for row in rows:
        if not site.reporting.shows(row.metric):
            continue
        every = job.report_every * (job.loss_every if row.metric in _NUMBERS else 1)
        shown = np.array(steps.index) % every == 0
        for rank in reporters(job, seats.world):
            kept = shown & (row.value[:, rank] > 0) if row.seldom else shown
            if not kept.any():
                continue
            host = int(seats.host[rank])
            pairs: dict[str, Scalar] = {"rank": rank, **dict(row.pairs)}
            found.append(
                SimulatedSeries(
                    host,
                    of_job(attempt, host, site.cluster.name),
                    row.metric,
                    attributes({**pairs, "source": "log"} if by_log else pairs),
                    end[kept, rank],
                    row.value[kept, rank],
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class _StepMetric:
    """One metric of all ranks, [step, rank]; `seldom`: left out where it is 0."""

    metric: str
    value: Array
    pairs: tuple[tuple[str, str], ...] = ()
    seldom: bool = False


_NUMBERS = ("training.loss", "training.grad_norm", "training.learning_rate")


def reporters(job: SimulatedJob, world: int) -> Sequence[int]:
    """Return the ranks that report their steps."""
    return {"all": range(world), "first": (0,), "last": (world - 1,)}[job.report_from]


def _everywhere(values: Iterable[float], world: int) -> Array:
    """Return what is the same on every rank as [step, rank]."""
    column = np.array(list(values), dtype=np.float64)[:, None]
    return np.broadcast_to(column, (len(column), world))


def _probed(attempt: SimulatedAttempt, site: SimulatedSite, end: Array) -> list[_StepMetric]:
    steps, job, values = attempt.steps, attempt.job, attempt.steps.values
    world = attempt.seats.world
    exact = (("quality", "exact"),)
    rows = [
        _StepMetric("training.step", _everywhere(steps.index, world)),
        _StepMetric("training.step.duration", end - np.stack(steps.start) + _between(attempt)),
        _StepMetric("training.data.duration", np.stack(steps.data)),
        _StepMetric("training.compute.duration", np.stack(steps.compute), exact),
        _StepMetric("training.comm.duration", np.stack(steps.comm), exact),
        _StepMetric("training.optimizer.duration", np.stack(steps.optimizer)),
        _StepMetric("training.checkpoint.duration", np.stack(steps.checkpoint), seldom=True),
        _StepMetric("training.gc.duration", np.stack(steps.gc), seldom=True),
        _StepMetric("training.tokens", np.stack([row.tokens for row in values])),
        _StepMetric(
            "training.learning_rate", _everywhere((row.learning_rate for row in values), world)
        ),
        *_numbers(attempt),
    ]
    bad = [
        ("loss", np.stack([row.bad_loss for row in values])),
        ("grad_local", np.stack([row.bad_local for row in values])),
        ("grad_reduced", _everywhere((row.bad_reduced for row in values), world)),
    ]
    rows += [_StepMetric("training.nonfinite", value, (("of", of),)) for of, value in bad]
    if job.loss_scale:
        scale = _everywhere((row.loss_scale for row in values), world)
        rows.append(_StepMetric("training.loss_scale", scale))
    if site.cluster.gpus:
        rows += [
            _StepMetric(
                "training.memory.allocated", np.stack([row.allocated for row in steps.held])
            ),
            _StepMetric("training.memory.reserved", np.stack([row.reserved for row in steps.held])),
            _StepMetric("training.memory.retries", np.stack([row.retries for row in steps.held])),
        ]
    return rows


def _numbers(attempt: SimulatedAttempt) -> list[_StepMetric]:
    """Return losses and norms, as the job reports them."""
    job, values, world = attempt.job, attempt.steps.values, attempt.seats.world
    own = np.stack([row.loss for row in values])
    rows = [
        _StepMetric(
            "training.loss", own, (("scope", "global" if job.loss_scope == "global" else "local"),)
        )
    ]
    if job.loss_scope == "both":
        mean = _everywhere((row.global_loss for row in values), world)
        rows.append(_StepMetric("training.loss", mean, (("scope", "global"),)))
    norm = _everywhere((row.grad_norm for row in values), world)
    rows.append(_StepMetric("training.grad_norm", norm, (("scope", "global"),)))
    if job.local_norms:
        norms = np.stack([row.own_norm for row in values])
        rows.append(_StepMetric("training.grad_norm", norms, (("scope", "local"),)))
    return rows


def _logged(attempt: SimulatedAttempt, end: Array) -> list[_StepMetric]:
    """Return what a line of a framework's log holds: durations are means since the last line."""
    steps, job, values = attempt.steps, attempt.job, attempt.steps.values
    world, index = attempt.seats.world, np.array(attempt.steps.index)
    took = end - np.stack(steps.start) + _between(attempt)
    total = np.cumsum(took, axis=0)
    marks = np.flatnonzero(index % job.report_every == 0)
    mean = np.zeros_like(took)
    before = np.zeros(world)
    previous = -1
    for mark in marks.tolist():
        mean[mark] = (total[mark] - before) / (mark - previous)
        before, previous = total[mark], mark
    scale = (
        [_StepMetric("training.loss_scale", _everywhere((row.loss_scale for row in values), world))]
        if job.loss_scale
        else []
    )
    return [
        _StepMetric("training.step", _everywhere(steps.index, world)),
        _StepMetric("training.step.duration", mean),
        _StepMetric("training.loss", _everywhere((row.global_loss for row in values), world)),
        _StepMetric("training.grad_norm", _everywhere((row.grad_norm for row in values), world)),
        _StepMetric(
            "training.learning_rate", _everywhere((row.learning_rate for row in values), world)
        ),
        *scale,
    ]


def _between(attempt: SimulatedAttempt) -> Array:
    """Return what lies between a step's end and the next one's start, where it counts as step.

    A probe that sees steps only through the optimizer's hooks measures from end to end.
    """
    steps = attempt.steps
    gap = np.zeros((len(steps.end), attempt.seats.world))
    if attempt.job.step_holds_pauses and len(steps.end) > 1:
        gap[1:] = np.stack(steps.start[1:]) - np.stack(steps.end[:-1])
    return gap
