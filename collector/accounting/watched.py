"""The jobs that are watched, summed up anew only where something arrived since the last request."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from ..pipeline.pipeline import DetectionPipeline
from ..windows import queries
from ..windows.queries import JobSummary

T = TypeVar("T")
_Revision = tuple[int, float, int]


class PipelineReader(Protocol):
    """What is needed of whoever owns the pipeline."""

    def read(self, question: Callable[[DetectionPipeline], T]) -> T:
        """Return the answer of a question to the pipeline, between two changes of it."""
        ...


class JobSummaries:
    """Summaries of jobs, kept from one request to the next. Safe to ask from any thread."""

    def __init__(self, owner: PipelineReader) -> None:
        self._owner = owner
        self._held: dict[str, tuple[_Revision, JobSummary]] = {}
        self._lock = threading.Lock()

    def jobs(self) -> list[JobSummary]:
        """Return every job that is remembered, by id."""
        with self._lock:
            held = self._held
            self._held = self._owner.read(lambda line: _renewed(line, held))
            return [summary for _, summary in self._held.values()]


def _renewed(
    line: DetectionPipeline, held: dict[str, tuple[_Revision, JobSummary]]
) -> dict[str, tuple[_Revision, JobSummary]]:
    """Return what is held, with new summaries of the jobs that reported since; none that went."""
    found: dict[str, tuple[_Revision, JobSummary]] = {}
    for attempt in line.windows.current():
        revision = (attempt.number, attempt.last_received, attempt.version)
        revised, summary = held.get(attempt.job, (None, None))
        if summary is None or revised != revision:
            summary = queries.summary(attempt, line.windows.topology(attempt).hosts)
        until = line.tracker.losses.until(attempt.job)
        found[attempt.job] = (revision, replace(summary, lost_until=until))
    return found
