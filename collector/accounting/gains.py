"""What would be gained by repairing or removing hosts: by incidents of the past, and in jobs now.

An incident counts for the host that its first cause is on, or that a person named in its place, as
for repeat offenders. A running job counts for each of its slowest hosts by what it would gain
without that one alone.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ...vocabulary.answers.gains import RunningGain, SlowestDocument
from ...vocabulary.counterfactuals import CounterfactualBasis, GpuHours, sum_of
from ..figures.slowest import slowest
from ..pipeline.pipeline import DetectionPipeline
from ..store.costs import IncidentCosts
from ..windows.matrices import newest_window
from ..windows.queries import JobSummary
from .offenders import at_fault
from .watched import PipelineReader

EVERY_SECONDS = 30.0
"""At most so often the steps of a job are compared with those without its slowest hosts; of a job
of more than MOST_RANKS as many times more seldom: evaluation waits while it is looked at."""

MOST_RANKS = 16_384
"""Of the jobs that are compared anew for one request, but at least one job: the oldest first."""

RUNNING_SECONDS = 60.0
"""A job of which nothing was received for so long runs no more."""


class RunningGains:
    """What running jobs would gain without their slowest hosts. Safe to ask from any thread."""

    def __init__(self, owner: PipelineReader) -> None:
        self._owner = owner
        self._held: dict[str, tuple[float, SlowestDocument]] = {}
        self._lock = threading.Lock()

    def of(self, jobs: Iterable[JobSummary], now: float) -> dict[str, SlowestDocument]:
        """Return the gains of each job of several hosts that runs, as lately as they are known.

        jobs: all of them; what is known of others is forgotten.
        """
        running = {
            str(row.job): row.ranks
            for row in jobs
            if now - row.last_received <= RUNNING_SECONDS and len(row.hosts) > 1
        }
        with self._lock:
            held = {job: self._held[job] for job in running if job in self._held}
            due = [
                job
                for job, ranks in running.items()
                if now - _at(held, job) >= EVERY_SECONDS * max(ranks / MOST_RANKS, 1.0)
            ]
            left = MOST_RANKS
            for job in sorted(due, key=lambda job: (_at(held, job), job)):
                if left < MOST_RANKS and running[job] > left:
                    break
                left -= running[job]
                for found in self._owner.read(partial(_slowest, job)):
                    held[job] = (now, found)
            self._held = held
            return {job: found for job, (_, found) in sorted(held.items())}


def _at(held: Mapping[str, tuple[float, SlowestDocument]], job: str) -> float:
    return held[job][0] if job in held else float("-inf")


def _slowest(job: str, line: DetectionPipeline) -> list[SlowestDocument]:
    window = newest_window(line.windows, job)
    return [] if window is None else [slowest(window, "host")]


@dataclass(slots=True)
class HostGains:
    """What one host would give back: incidents whose first cause is on it, and jobs that run."""

    host: str
    incidents: list[str] = field(default_factory=list)
    measured: list[GpuHours] = field(default_factory=list)
    bases: set[CounterfactualBasis] = field(default_factory=set)
    now: list[RunningGain] = field(default_factory=list)

    @property
    def past(self) -> GpuHours | None:
        """Return what its incidents took, None where none was measured."""
        return sum_of(self.measured) if self.measured else None

    @property
    def an_hour(self) -> GpuHours | None:
        """Return what an hour would give back now, None where no job runs that it holds up."""
        return sum_of(row.an_hour for row in self.now) if self.now else None

    @property
    def order(self) -> tuple[float, float, str]:
        """Return where it stands: most of the past first, then most now, then by name."""
        past, now = (0.0 if row is None else row.gpu_hours for row in (self.past, self.an_hour))
        return -past, -now, self.host


def by_host(
    rows: Iterable[IncidentCosts],
    running: Mapping[str, SlowestDocument],
    *,
    since: float,
    until: float,
) -> list[HostGains]:
    """Return every host that incidents between two times name, or that holds running jobs up.

    Of an incident that began before `since`, or goes on after `until`, the part of its time counts.
    """
    found: dict[str, HostGains] = {}
    for row in rows:
        entity, share = at_fault(row), _share(row, since, until)
        if entity is None or entity.host is None or not share > 0:
            continue
        one = found.setdefault(entity.host, HostGains(entity.host))
        one.incidents.append(row.id)
        if row.measured is not None:
            one.measured.append(row.measured.hours.times(share))
            one.bases.add(row.measured.basis)
    for job, document in running.items():
        for place in document.slowest:
            if place.host is not None and place.an_hour is not None and place.an_hour.high > 0:
                one = found.setdefault(place.host, HostGains(place.host))
                one.now.append(RunningGain(job=job, an_hour=place.an_hour))
    return sorted(found.values(), key=lambda row: row.order)


def _share(row: IncidentCosts, since: float, until: float) -> float:
    """Return the share (0-1) of an incident's time that is between two times."""
    end = row.updated_at if row.resolved_at is None else row.resolved_at
    lasted = end - row.opened_at
    if not lasted > 0:
        return float(since <= row.opened_at < until)
    return max(min(end, until) - max(row.opened_at, since), 0.0) / lasted
