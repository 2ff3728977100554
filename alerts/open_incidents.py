"""Incidents that are open, by the jobs that they affect."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..vocabulary.ids import Job
from .lifecycle import TrackedIncident


@dataclass(slots=True)
class OpenIncidents:
    """Open incidents; one that affects several jobs is held under each of them."""

    _by_job: dict[Job, list[TrackedIncident]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TrackedIncident]:
        """Yield the incidents of every job: one of several jobs comes several times."""
        return (incident for incidents in self._by_job.values() for incident in incidents)

    def of_job(self, job: Job) -> tuple[TrackedIncident, ...]:
        """Return the incidents of a job, in the order in which they came."""
        return tuple(self._by_job.get(job, ()))

    def put(self, job: Job, incidents: Sequence[TrackedIncident]) -> None:
        """Hold exactly these for a job."""
        if incidents:
            self._by_job[job] = list(incidents)
        else:
            self._by_job.pop(job, None)

    def add(self, incident: TrackedIncident) -> None:
        """Hold an incident for every job that it affects."""
        for job in incident.parts:
            held = self._by_job.setdefault(job, [])
            if incident not in held:
                held.append(incident)

    def remove(self, incident: TrackedIncident) -> None:
        """Let go of an incident that is over."""
        for job in incident.parts:
            self.put(job, [held for held in self.of_job(job) if held is not incident])
