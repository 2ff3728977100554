"""The per-step series of every rank: one time stamp a step, its end."""

import numpy as np
from numpy.typing import NDArray

from ....vocabulary.samples import attributes
from ..site import Site
from ..training import Attempt
from . import Series
from .resources import of_job

Array = NDArray[np.float64]


def series(attempt: Attempt, site: Site) -> list[Series]:
    """Return the step series of an attempt."""
    steps, job, seats = attempt.steps, attempt.job, attempt.seats
    if not steps.index:
        return []
    random = np.random.default_rng([site.seed, 11, attempt.number])
    end = np.stack(steps.end)
    values = steps.values
    norm = np.array([row.grad_norm for row in values])
    shape = end.shape
    everywhere: dict[tuple[str, tuple[tuple[str, str], ...]], Array] = {
        ("training.step", ()): np.broadcast_to(np.array(steps.index, float)[:, None], shape),
        ("training.step.duration", ()): end - np.stack(steps.start) + _between(attempt),
        ("training.data.duration", ()): np.stack(steps.data),
        ("training.compute.duration", (("quality", "exact"),)): np.stack(steps.compute),
        ("training.comm.duration", (("quality", "exact"),)): np.stack(steps.comm),
        ("training.optimizer.duration", ()): np.stack(steps.optimizer),
        ("training.checkpoint.duration", ()): np.stack(steps.checkpoint),
        ("training.tokens", ()): np.stack([row.tokens for row in values]),
        ("training.loss", (("scope", job.loss_scope),)): np.stack([row.loss for row in values]),
        ("training.grad_norm", (("scope", "global"),)): np.broadcast_to(norm[:, None], shape),
        ("training.learning_rate", ()): np.broadcast_to(
            np.array([row.learning_rate for row in values])[:, None], shape
        ),
        ("training.nonfinite", (("of", "loss"),)): np.stack([row.bad_loss for row in values]),
        ("training.nonfinite", (("of", "grad_local"),)): np.stack(
            [row.bad_local for row in values]
        ),
        ("training.nonfinite", (("of", "grad_reduced"),)): np.broadcast_to(
            np.array([row.bad_reduced for row in values])[:, None], shape
        ),
    }
    if job.loss_scale:
        everywhere["training.loss_scale", ()] = np.broadcast_to(
            np.array([row.loss_scale for row in values])[:, None], shape
        )
    held = 18e9 * (1 + 0.002 * random.standard_normal(shape))
    everywhere["training.memory.allocated", ()] = np.round(held)
    everywhere["training.memory.reserved", ()] = np.full(shape, 24 * 2.0**30)
    found = []
    for (metric, pairs), matrix in everywhere.items():
        if not site.reporting.shows(metric):
            continue
        for rank in range(seats.world):
            host = int(seats.host[rank])
            pauses = metric == "training.checkpoint.duration"
            keep = matrix[:, rank] > 0 if pauses else np.ones(len(matrix), dtype=bool)
            if not keep.any():
                continue
            found.append(
                Series(
                    host,
                    of_job(attempt, host, site.cluster.name),
                    metric,
                    attributes({"rank": rank, **dict(pairs)}),
                    end[keep, rank],
                    matrix[keep, rank],
                )
            )
    return found


def _between(attempt: Attempt) -> Array:
    """Return what lies between a step's end and the next one's start, where it counts as step.

    A probe that sees steps only through the optimizer's hooks measures from end to end.
    """
    steps = attempt.steps
    gap = np.zeros((len(steps.end), attempt.seats.world))
    if attempt.job.step_holds_pauses and len(steps.end) > 1:
        gap[1:] = np.stack(steps.start[1:]) - np.stack(steps.end[:-1])
    return gap
