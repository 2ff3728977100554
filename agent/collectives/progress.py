"""Since when a job stands still, as far as this node sees it: by its log and by NCCL's counts."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ...vocabulary.samples import Attributes
from ..rank_processes import Attempt
from ..training_logs import LaunchedProcesses, LogBatch

_MOVING = frozenset({"training.step", "collective.enqueued"})
_MOST_SERIES = 50_000
_MOST_JOBS = 256


@dataclass(slots=True)
class _JobProgress:
    moved_at: float
    moves: int = 0
    last: dict[tuple[str, Attributes], float] = field(default_factory=dict)


class StepProgress:
    """Looks at what readers hand over on its way; called from any thread."""

    def __init__(self, deliver: Callable[[LogBatch | LaunchedProcesses], None]) -> None:
        self._deliver = deliver
        self._lock = threading.Lock()
        self._jobs: dict[Attempt, _JobProgress] = {}

    def __call__(self, found: LogBatch | LaunchedProcesses) -> None:
        """Note whether steps ended or collectives were launched, and hand over."""
        if isinstance(found, LogBatch):
            with self._lock:
                self._note(found)
        self._deliver(found)

    def still_since(self, of: Attempt) -> float | None:
        """Return when a job that moved before was last seen to move, None for an unknown one."""
        with self._lock:
            job = self._jobs.get(of)
            return job.moved_at if job is not None and job.moves > 1 else None

    def _note(self, batch: LogBatch) -> None:
        for sample in batch.samples:
            if sample.metric not in _MOVING:
                continue
            job = self._jobs.get((batch.job, batch.attempt))
            if job is None:
                while len(self._jobs) >= _MOST_JOBS:
                    del self._jobs[next(iter(self._jobs))]
                job = self._jobs[batch.job, batch.attempt] = _JobProgress(sample.at)
            key = (sample.metric, sample.attributes)
            if job.last.get(key) == sample.value:
                continue
            if len(job.last) < _MOST_SERIES:
                job.last[key] = sample.value
            job.moves += 1
            job.moved_at = max(job.moved_at, sample.at)
