"""What a rank's device does at any time: shares of compute, of collectives, of nothing."""

from collections.abc import Sequence

import numpy as np

from .situation import CaseSituation
from .training import JobAttempt

_ORDER = ("data", "gc", "compute", "comm", "optimizer", "checkpoint")
_COMPUTE = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.7, 0.0])
"""Share of compute in what precedes each edge of a step: its begin, then the ends of its phases."""
_COMM = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])


class RankActivity:
    """Seconds of compute and of waiting in collectives, cumulative, per rank."""

    def __init__(self, case: CaseSituation, attempts: Sequence[JobAttempt]) -> None:
        self._case = case
        self._knots: list[tuple[np.ndarray, np.ndarray]] = []
        for rank in range(case.plan.world):
            inside = [one for one in attempts if rank < len(one.layout.ranks)]
            rows = np.concatenate([self._of_attempt(one, rank) for one in inside])
            rows = rows[np.argsort(rows[:, 0], kind="stable")]
            self._knots.append((rows[:, 0], np.cumsum(rows[:, 1:], axis=0)))

    def shares(self, rank: int, times: np.ndarray, window: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of compute and of collectives in the window before each time."""
        at, totals = self._knots[rank]
        spent = [
            np.interp(times, at, total) - np.interp(times - window, at, total) for total in totals.T
        ]
        compute, comm = np.clip(np.array(spent) / window, 0.0, 1.0)
        return compute, comm

    def _of_attempt(self, one: JobAttempt, rank: int) -> np.ndarray:
        """Return rows of time, seconds of compute and of collectives since the row before."""
        records = one.records
        spent = np.stack([records.phases[name][:, rank] for name in _ORDER], axis=1)
        lasted = np.concatenate([np.zeros((len(spent), 1)), spent], axis=1)
        edges = (records.ends - spent.sum(axis=1))[:, None] + np.cumsum(lasted, axis=1)
        steps = np.stack([edges, lasted * _COMPUTE, lasted * _COMM], axis=-1).reshape(-1, 3)
        rows = [(one.begin, 0.0, 0.0), (one.end, 0.0, 0.0)]
        for begin, end in records.pauses:
            rows += [(begin, 0.0, 0.0), (end, 0.65 * (end - begin), 0.0)]
        stop, began = self._case.stop, records.stopped
        if stop is not None and began is not None:
            ends, until = min(stop.ends, self._case.end), stop.at - began
            spins = rank not in stop.ranks or stop.kind in ("gpu", "transport", "order")
            rows += [(began, 0.0, 0.0), (stop.at, 0.6 * until, 0.2 * until)]
            rows += [(ends, 0.0, float(spins) * (ends - stop.at))]
        return np.concatenate([steps, np.array(rows)])
