"""A job window drawn by hand in a few lines: for the examples of the detectors and their tests."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..vocabulary.ids import Job
from . import compute_time
from .window import Floats, JobWindow, PeriodicReadings, StepValues

START = 1_700_000_000.0
"""When the first step of a sketch begins, in seconds since the epoch."""


def sketch(
    own: Floats,
    *,
    hosts: int = 2,
    exchange: float | Floats = 0.2,
    gaps: Mapping[int, float] | None = None,
    planes: Mapping[str, Floats] | None = None,
    now: float | None = None,
    first: int = 0,
    **fields: Any,
) -> JobWindow:
    """Return a synchronous job: a step ends everywhere when the slowest rank's work is exchanged.

    own: [ranks, steps], seconds of each rank's own work; the ranks fill the hosts in order.
    exchange: seconds of communication that no rank can hide, a number or [steps]. gaps: seconds
    that pass before a step begins (a checkpoint, an evaluation), by column. first: the first step's
    index. planes are added to the usual three. Without `now` it is the end of the last step;
    everybody is received at `now`. `fields` are JobWindow's.
    """
    ranks, count = own.shape
    slowest = np.max(own, axis=0, initial=0.0, where=np.isfinite(own))
    duration = np.tile(slowest + exchange, (ranks, 1))
    pause = np.array([(gaps or {}).get(column, 0.0) for column in range(count)])
    at = START + np.cumsum(duration + pause, axis=1)
    if now is None:
        now = float(at[0, -1]) if at.size else START
    drawn: dict[str, Any] = {
        "job": Job("example"),
        "attempt": 0,
        "cluster": None,
        "now": now,
        "ranks": np.arange(ranks),
        "hosts": tuple(f"host-{number}" for number in range(hosts)),
        "host_of": np.arange(ranks) * hosts // max(ranks, 1),
        "world_size": ranks,
        "steps": StepValues(
            first + np.arange(count),
            at,
            {
                compute_time.STEP: duration,
                compute_time.COMPUTE: own,
                compute_time.COMM: duration - own,
                **(planes or {}),
            },
        ),
        "role_of": np.zeros(ranks, np.int64),
        "hw_ids": tuple(f"GPU-{rank}" for rank in range(ranks)),
        "pids": 1000 + np.arange(ranks),
        "last_received": np.full(ranks, now),
        "host_last_received": np.full(hosts, now),
        "host_interval": np.full(hosts, 1.0),
        "rank_readings": {},
        "host_readings": {},
    }
    return JobWindow(**{**drawn, **fields})


def readings(at: Floats, value: Floats) -> PeriodicReadings:
    """Return periodic readings that every row has at the same times.

    at: [readings], value: [rows, readings] or, where it does not change, [rows, 1].
    """
    shape = (len(value), len(at))
    return PeriodicReadings(np.broadcast_to(at, shape).copy(), np.broadcast_to(value, shape).copy())
