"""The life of a job over a recording: one attempt after another, by restarts and crashes."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .conditions import ClusterConditions
from .curves import TrainingCurve
from .devices import MODELS
from .placement import seat
from .shape import SimulatedCluster, SimulatedJob
from .training import AttemptRun, SimulatedAttempt


def live(
    job: SimulatedJob,
    *,
    cluster: SimulatedCluster,
    seconds: float,
    skew: NDArray[np.float64],
    conditions: Callable[[float], ClusterConditions],
    random: np.random.Generator,
) -> list[SimulatedAttempt]:
    """Return the attempts of a job up to `seconds`; each restart moves ranks to other hosts."""
    order = np.asarray(job.hosts or range(cluster.hosts), dtype=np.int64)
    finish = job.ends_after or np.inf
    stops = [at for at in (*job.restarts, finish) if at < seconds]
    attempts: list[SimulatedAttempt] = []
    born, first_step = job.starts_after, job.first_step
    while born < seconds:
        number = len(attempts)
        size = job.sizes[min(number, len(job.sizes) - 1)] if job.sizes else len(order)
        seats = seat(cluster, job, attempt=number, order=order[:size])
        ahead = [at for at in stops if at > born]
        stop = ahead[0] if ahead else seconds
        end = "cut" if not ahead else ("done" if stop == finish else "requeue")
        run = AttemptRun(
            job,
            seats,
            number=number,
            born=born,
            first_step=first_step,
            gpus=cluster.gpus,
            device_memory=MODELS[cluster.accelerator].memory,
            skew=skew,
            curve=TrainingCurve(
                job, seats.world, random, first_step=first_step, resumed=number > 0
            ),
            conditions=conditions,
            random=random,
        )
        attempt = run.until(stop, end=end)
        attempts.append(attempt)
        if end == "done" and not attempt.crashed:
            break
        if attempt.crashed and not job.restarts_after_crash:
            break
        if not attempt.crashed and end == "cut":
            break
        gone = float(attempt.died.max()) if np.isfinite(attempt.died).all() else stop
        born = gone + job.restart_seconds
        first_step = _resume_from(job, attempt)
        order = random.permutation(order)
    return attempts


def _resume_from(job: SimulatedJob, attempt: SimulatedAttempt) -> int:
    """Return the step of the last checkpoint, or where the attempt began without one."""
    if not job.checkpoint_every:
        return attempt.next_step
    saved = attempt.next_step // job.checkpoint_every * job.checkpoint_every
    return max(saved, job.first_step)
