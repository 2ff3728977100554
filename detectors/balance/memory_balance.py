"""Ranks that hold far more memory than peers with the same role."""

from collections.abc import Sequence

import numpy as np

from ...vocabulary.findings import Finding
from .. import compute_time, medians
from ..contract import Detector
from ..findings import report
from ..window import Floats, JobWindow

_METRICS = (
    ("training.memory.allocated", True, 0.05, "allocated device memory"),
    ("hw.gpu.memory.usage", False, 0.05, "device memory in use"),
    ("process.memory.private", False, 0.5, "private host memory"),
)
"""Metric, whether it is of steps, smallest excess as a share of the limit (of peers where there is
no limit), and what a person calls it."""

_LIMIT = "hw.gpu.memory.limit"
_SECONDS, _STEPS = 60.0, 5
"""The newest range: of periodic readings, and of steps."""

FEWEST = 3
"""Ranks of a role without which none stands out."""

MOST = 8
SIGMAS = 6.0


class MemoryBalanceDetector(Detector):
    """Name the few ranks that hold more memory than their peers of the same parallel role.

    Mean over the newest steps of allocated device memory, over the newest minute of device memory
    in use and private host memory, against the median of the role; beyond a least excess and beyond
    six of the spreads (MAD) by which peers differ. Stages and tensor ranks differ by design, and
    are not compared. Evidence only: memory that a rank gathers shows here, and costs nothing by
    itself.

    Parameters
    ----------
    share : largest part of a role's ranks that can stand out.

    Examples
    --------
    Rank 0 holds 20 GB more than its peers.

    >>> from rankscope.detectors.sketch import readings, sketch
    >>> held = np.full((4, 60), 40e9)
    >>> held[0] += 20e9
    >>> window = sketch(np.full((4, 60), 0.8), planes={"training.memory.allocated": held},
    ...     rank_readings={_LIMIT: readings(np.array([1.7e9]), np.full((4, 1), 8e10))})
    >>> for finding in MemoryBalanceDetector().evaluate(window):
    ...     print(finding.kind, finding.entity, finding.magnitude)
    rank.memory_above_peers rank 0 on host-0 1.5

    Fails where a role has fewer than three ranks, and for memory that is freed before the end of
    the step or between two readings.

    Source: stages of a pipeline hold different activations; what follows the stage is no hotspot.
    """

    name = "memory_balance"
    kinds = ("rank.memory_above_peers",)
    cadence_seconds = 15.0

    def __init__(self, *, share: float = 0.25) -> None:
        self.share = share

    def evaluate(self, window: JobWindow) -> Sequence[Finding]:
        """Return one finding a rank, of the first metric that shows it."""
        if len(window.ranks) < FEWEST:
            return []
        found: dict[int, Finding] = {}
        limit = window.of_ranks(_LIMIT).latest()[0]
        for metric, of_steps, least, words in _METRICS:
            seen = self._seen(window, metric, of_steps=of_steps)
            known = np.isfinite(seen)
            if known.sum() < FEWEST:
                continue
            for role in np.unique(window.role_of[known]):
                rows = np.flatnonzero((window.role_of == role) & known)
                if len(rows) < FEWEST:
                    continue
                middle = medians.middle(seen[rows])
                spread = medians.spread(seen[rows])
                device = not metric.startswith("process.")
                against = np.where(device & (limit[rows] > 0), limit[rows], middle)
                excess = seen[rows] - middle
                odd = excess > np.maximum(least * against, SIGMAS * spread)
                if not 0 < odd.sum() <= max(1, self.share * len(rows)):
                    continue
                order = np.lexsort((window.ranks[rows], -excess))
                for place in order[odd[order]][:MOST]:
                    row = int(rows[place])
                    found.setdefault(
                        row, self._finding(window, row, metric, float(seen[row]), middle, words)
                    )
        return [found[row] for row in sorted(found)]

    def _seen(self, window: JobWindow, metric: str, *, of_steps: bool) -> Floats:
        """Return [ranks], the mean of the newest minute."""
        if of_steps:
            if not window.steps.has(metric):
                return np.full(len(window.ranks), np.nan)
            return medians.median(window.steps.last(_STEPS).plane(metric), axis=1)
        return window.of_ranks(metric).mean(window.now - _SECONDS, window.now)

    def _finding(
        self, window: JobWindow, row: int, metric: str, seen: float, peers: float, words: str
    ) -> Finding:
        return report(
            window,
            self.name,
            "rank.memory_above_peers",
            window.rank_entity(row),
            onset=(_oldest(window), window.now),
            magnitude=seen / peers if peers > 0 else 1.0,
            score=2.0,
            signal=metric,
            observed=seen,
            expected=peers,
            text=f"{words} of rank {int(window.ranks[row])}: {seen / 2**30:.3g} GiB, its peers' "
            f"{peers / 2**30:.3g} GiB",
        )


def _oldest(window: JobWindow) -> float:
    """Return when the oldest step that is held ended: nobody says since when it has been so."""
    ends = compute_time.step_ends(window.steps)
    ends = ends[np.isfinite(ends)]
    return min(float(ends[0]), window.now) if len(ends) else window.now - _SECONDS
