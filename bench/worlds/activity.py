"""What a rank's device does at any time: shares of compute, of collectives, of nothing."""

from collections.abc import Sequence

import numpy as np

from .situation import CaseSituation
from .training import JobAttempt

_ORDER = ("data", "gc", "compute", "comm", "optimizer", "checkpoint")


class RankActivity:
    """Seconds of compute and of waiting in collectives, cumulative, per rank."""

    def __init__(self, case: CaseSituation, attempts: Sequence[JobAttempt]) -> None:
        self._knots: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._stop, self._end = case.stop, case.end
        for rank in range(case.plan.world):
            inside = [one for one in attempts if rank < len(one.layout.ranks)]
            times, compute, comm = [], [], []
            for one in inside:
                rows = self._of_attempt(one, rank)
                times.append(rows[0])
                compute.append(rows[1])
                comm.append(rows[2])
            at = np.concatenate(times)
            self._knots.append(
                (at, np.cumsum(np.concatenate(compute)), np.cumsum(np.concatenate(comm)))
            )

    def shares(self, rank: int, times: np.ndarray, window: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of compute and of collectives in the window before each time."""
        at, compute, comm = self._knots[rank]
        found = []
        for total in (compute, comm):
            now = np.interp(times, at, total)
            found.append(np.clip((now - np.interp(times - window, at, total)) / window, 0.0, 1.0))
        return found[0], found[1]

    def _of_attempt(self, one: JobAttempt, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        records = one.records
        spent = np.stack([records.phases[name][:, rank] for name in _ORDER], axis=1)
        begins = records.ends - spent.sum(axis=1)
        knots = begins[:, None] + np.cumsum(spent, axis=1)
        times = np.concatenate([begins[:, None], knots], axis=1).ravel()
        compute = np.zeros((len(begins), len(_ORDER) + 1))
        comm = np.zeros_like(compute)
        compute[:, 1 + _ORDER.index("compute")] = spent[:, _ORDER.index("compute")]
        compute[:, 1 + _ORDER.index("optimizer")] = 0.7 * spent[:, _ORDER.index("optimizer")]
        comm[:, 1 + _ORDER.index("comm")] = spent[:, _ORDER.index("comm")]
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [
            (times, compute.ravel(), comm.ravel())
        ]
        parts.append((np.array([one.begin, one.end]), np.zeros(2), np.zeros(2)))
        for begin, end in records.pauses:
            at = np.array([begin, end])
            parts.append((at, np.array([0.0, 0.65 * (end - begin)]), np.zeros(2)))
        if records.stopped is not None and self._stop is not None:
            parts.append(self._after_stop(records.stopped, rank))
        rows = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(rows[0], kind="stable")
        at, busy, waiting = (row[order] for row in rows)
        return at, busy, waiting

    def _after_stop(self, began: float, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self._stop is not None  # noqa: S101 - for the types: the caller asks
        at = np.array([began, self._stop.at, min(self._stop.ends, self._end)])
        compute = np.array([0.0, 0.6 * (at[1] - at[0]), 0.0])
        spins = rank not in self._stop.ranks or self._stop.kind in ("gpu", "transport", "order")
        comm = np.array([0.0, 0.2 * (at[1] - at[0]), (at[2] - at[1]) if spins else 0.0])
        return at, compute, comm
