"""Findings and features of a replay as tables for a notebook.

One row a finding, in the second in which it was first reported, and while it lasts one whenever its
magnitude or score changed; and one row a completed step of each job with what detectors share.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...detectors.window import JobWindow
from ...vocabulary.findings import Finding

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "at", "row", "job", "attempt", "detector", "kind", "entity_type", "entity", "host", "ranks",
    "onset", "onset_latest", "magnitude", "score", "signal", "observed", "expected", "text", "step",
    "step_end", "step_seconds", "slowest_rank", "slowest_own_seconds", "median_own_seconds",
)  # fmt: skip
"""`row` is "finding" or "step"; the columns of the other one are empty."""


class ReplayFrames:
    """Gathers rows while a replay runs; times in seconds since the epoch, durations in seconds."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._last: dict[tuple[Any, ...], tuple[float, float]] = {}
        self._steps: dict[tuple[str, int], int] = {}

    def evaluated(self, window: JobWindow, findings: Sequence[Finding]) -> None:
        """Take what was found at a second."""
        for finding in findings:
            key = (finding.job, finding.attempt, finding.detector, finding.kind, finding.entity.id)
            seen = (finding.magnitude, finding.score)
            if self._last.get(key) != seen:
                self._last[key] = seen
                self._rows.append(_finding(window.now, finding))
        held = {(f.job, f.attempt, f.detector, f.kind, f.entity.id) for f in findings}
        mine = (window.job, window.attempt)
        for key in [key for key in self._last if key[:2] == mine and key not in held]:
            del self._last[key]
        self._completed(window)

    def _completed(self, window: JobWindow) -> None:
        """Take the steps that every rank has ended since last time."""
        features = window.features
        steps = features.steps
        if not len(steps.index):
            return
        key = (str(window.job), window.attempt)
        ends = steps.at
        ended = np.isfinite(ends).all(axis=0) & (steps.index > self._steps.get(key, -1))
        own = features.own
        for column in np.flatnonzero(ended).tolist():
            self._steps[key] = int(steps.index[column])
            row: dict[str, Any] = {
                "at": window.now,
                "row": "step",
                "job": str(window.job),
                "attempt": window.attempt,
                "step": int(steps.index[column]),
                "step_end": float(np.max(ends[:, column])),
                "step_seconds": float(features.job_duration[column]),
            }
            if own is not None and np.isfinite(own[:, column]).any():
                worst = int(np.nanargmax(own[:, column]))
                row |= {
                    "slowest_rank": int(window.ranks[worst]),
                    "slowest_own_seconds": float(own[worst, column]),
                    "median_own_seconds": float(np.nanmedian(own[:, column])),
                }
            self._rows.append(row)

    def table(self) -> "pd.DataFrame":
        import pandas as pd  # noqa: PLC0415  half a second that other replays need not wait

        frame = pd.DataFrame(self._rows, columns=list(COLUMNS))
        return frame.convert_dtypes()

    def write(self, path: Path) -> int:
        """Write the table as Parquet or, by the name's ending, CSV; return its rows."""
        frame = self.table()
        if path.suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
        return len(frame)


def _finding(now: float, finding: Finding) -> dict[str, Any]:
    return {
        "at": now,
        "row": "finding",
        "job": str(finding.job),
        "attempt": finding.attempt,
        "detector": finding.detector,
        "kind": finding.kind,
        "entity_type": finding.entity.type,
        "entity": finding.entity.id,
        "host": finding.entity.host,
        "ranks": str(finding.ranks),
        "onset": finding.onset[0],
        "onset_latest": finding.onset[1],
        "magnitude": finding.magnitude,
        "score": finding.score,
        "signal": finding.signal,
        "observed": None if finding.observed is None else str(finding.observed),
        "expected": None if finding.expected is None else str(finding.expected),
        "text": finding.text,
    }
