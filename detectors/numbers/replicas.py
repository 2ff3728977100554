"""Replica divergence: values that every replica must share are not the same on all of them."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, curves, medians
from ..contract import Detector
from ..findings import report
from ..window import Flags, Floats, Ints, JobWindow
from .peer_values import symptom

NEWEST, MOST = 8, 256
"""Steps that must differ, and steps that are looked at."""

OFTEN = 0.75
"""Share of the newest steps at which a rank has to differ."""

STRAY, FAR = 0.1, 8.0
"""Share of the others' values that may differ too, and what is far, in units of what they do."""

MOST_ROWS = 65_536
"""Ranks whose values are sorted to find what the majority has; of more, an even choice."""


class ReplicasDetector(Detector):
    """Name the replicas whose reduced loss or gradient norm is not that of the majority.

    A value after an all-reduce (`scope` = global) is the same number on every rank that took part,
    so a rank that has another one had another reduction or does not hold the same weights. The
    ranks of a role are compared at the same steps, with a tolerance for formatting and for the
    order of additions. Where no majority agrees, they must have agreed before: then nobody is
    named, and the symptom says that replicas differ; values that never agreed are local ones under
    the wrong name.

    Parameters
    ----------
    tolerance : relative difference from which on two numbers are not the same.

    Examples
    --------
    The reduced gradient norm of rank 3 departs at step 50 by one percent.

    >>> from rankscope.detectors.sketch import sketch
    >>> norm = np.tile(np.random.default_rng(7).normal(1.0, 0.1, 60), (4, 1))
    >>> norm[3, 50:] *= 1.01
    >>> window = sketch(np.full((4, 60), 0.8), planes={"training.grad_norm|global": norm})
    >>> _, replica = ReplicasDetector().evaluate(window)
    >>> replica.text
    "rank 3's reduced gradient norm is not that of 3 replicas since step 50"

    Fails where one rank reports for all, and where only local values are reported: drifting ones
    are found by peer_values.py. Cannot see weights.

    References: PyTorch DistributedDataParallel notes (replicas start equal and stay equal); Llama 3
    (2024) 3.3.4.
    """

    name = "replicas"
    kinds = ("job.values_differ", "rank.replica_differs")
    cadence_seconds = 5.0
    of_steps = True

    def __init__(self, *, tolerance: float = 1e-3) -> None:
        self.tolerance = tolerance

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return the replicas that differ, and the symptom that values do."""
        steps = window.features.steps.last(MOST)
        if len(window.ranks) < 2 or compute_time.stale(window.features.steps, window.now):
            return []
        for metric in (curves.LOSS, curves.GRADIENT):
            plane = steps.planes.get(f"{metric}|global")
            if plane is None:
                continue
            found: list[tuple[Ints, int, int]] = []
            for role in np.unique(window.role_of):
                differing = self._differing(plane, np.flatnonzero(window.role_of == role))
                if differing is not None:
                    found.append(differing)
            if found:
                return self._findings(window, steps.index, metric, found)
        return []

    def _differing(self, plane: Floats, rows: Ints) -> tuple[Ints, int, int] | None:
        """Return (rows that differ, first column, how many agree); no rows where nobody agrees."""
        newest = plane[rows][:, -4 * NEWEST :]
        columns = np.flatnonzero((~np.isnan(newest)).sum(axis=0) > max(1, len(rows) / 2))[-NEWEST:]
        if len(rows) < 2 or len(columns) < NEWEST:
            return None
        differs = self._differs(newest[:, columns])
        often: Flags = np.mean(differs, axis=1) >= OFTEN
        if not often.any():
            return None
        whole = self._differs(plane[rows])
        reported = np.isfinite(plane[rows]).any(axis=0)
        known = np.flatnonzero(reported)
        if often.mean() < 0.5:
            if not self._shared(newest[:, columns], often):
                return None
            odd: Flags = np.any(whole[often][:, known], axis=0)
            first = int(known[_first(odd)])
            return rows[often], first, int((~often).sum())
        disagree = whole.mean(axis=0)[known] >= min(0.5, 1.0 / len(rows))
        early = disagree[: len(disagree) - NEWEST]
        first = _first(disagree)
        if len(early) < 2 * NEWEST or early[: max(first, 1)].mean() > 0.1 or first < NEWEST:
            return None
        return np.zeros(0, np.int64), int(known[first]), 0

    def _shared(self, values: Floats, odd: Flags) -> bool:
        """Tell whether the others have one value, from which the odd ones are far away.

        Local values of few ranks lie so close that the one next to the median differs seldom.
        """
        rest = values[~odd]
        if self._differs(rest).mean() > STRAY:
            return False
        common = medians.median(np.where(np.isfinite(rest), rest, np.nan), axis=0)
        among = float(np.nanmean(np.abs(rest - common)))
        away = np.nanmedian(np.abs(values[odd] - common), axis=1)
        return bool((away > FAR * among).all())

    def _differs(self, values: Floats) -> Flags:
        """Return [ranks, steps], where a value is not the median one; False where it is missing."""
        chosen = np.linspace(0, len(values) - 1, min(len(values), MOST_ROWS)).astype(np.int64)
        finite = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
        common = medians.median(finite[chosen], axis=0)
        with np.errstate(invalid="ignore"):
            differs: Flags = np.abs(finite - common) > self.tolerance * np.abs(common) + 1e-12
        return differs

    def _findings(
        self, window: JobWindow, index: Ints, metric: str, found: list[tuple[Ints, int, int]]
    ) -> list[Finding]:
        what = "loss" if metric == curves.LOSS else "gradient norm"
        ends = compute_time.step_ends(window.features.steps.last(MOST))
        replicas: list[Finding] = []
        for rows, first, agree in found:
            onset = _onset(ends, first)
            replicas += [
                report(
                    window,
                    self.name,
                    "rank.replica_differs",
                    window.rank_entity(int(row)),
                    onset=onset,
                    magnitude=float(agree),
                    score=3.0,
                    signal=metric,
                    text=f"rank {int(window.ranks[row])}'s reduced {what} is not that of {agree} "
                    f"replicas since step {int(index[first])}",
                )
                for row in rows
            ]
        ranks = sorted(int(f.entity.id) for f in replicas)
        onset = _onset(ends, min(first for _, first, _ in found))
        named = "replicas differ from their"
        if ranks:
            named = f"rank {ranks[0]} differ from its" if len(ranks) == 1 else (
                f"{len(ranks)} ranks differ from their"
            )  # fmt: skip
        return [symptom(window, self.name, metric, named, ranks, onset, 3.0), *replicas]


def _first(odd: Flags) -> int:
    """Return the first place after the newest two in a row that are not odd; the first odd one."""
    normal = np.flatnonzero(~odd[:-1] & ~odd[1:])
    if len(normal) and int(normal[-1]) + 2 < len(odd):
        return int(normal[-1]) + 2
    return int(np.argmax(odd))


def _onset(ends: Floats, first: int) -> tuple[float, float]:
    at = float(ends[first])
    return min(float(ends[max(first - 1, 0)]), at), at
