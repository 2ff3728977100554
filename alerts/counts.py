"""Figures over all incidents for /metrics, kept up to date change by change."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..vocabulary.ids import IncidentId
from ..vocabulary.incidents import Incident

MOST_COSTS = 4_000
"""(job, fault) pairs whose cost is kept; the pair that changed longest ago goes first."""

CountKey = tuple[str, str, str, str]
"""Job ("" for none), fault, severity, status."""


@dataclass(slots=True)
class IncidentCounts:
    """Incidents in memory by job, fault, severity and status, and what each fault has cost."""

    _count: dict[CountKey, int] = field(default_factory=dict)
    _shown: dict[IncidentId, tuple[CountKey, float]] = field(default_factory=dict)
    _lost: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def by_kind(self) -> Mapping[CountKey, int]:
        """Return the number of incidents by job, fault, severity and status."""
        return self._count

    @property
    def gpu_seconds_lost(self) -> Mapping[tuple[str, str], float]:
        """Return GPU-seconds lost by job and fault; never falls, whatever the first cause does."""
        return self._lost

    def note(self, incident: Incident) -> None:
        """Take an incident's newest document."""
        fault = incident.root_cause.hypotheses[0].fault
        job = incident.job or ""
        key = (job, fault, incident.severity, incident.status)
        held, lost = self._shown.get(incident.id, (None, 0.0))
        if held != key:
            if held is not None:
                self._less(held)
            self._count[key] = self._count.get(key, 0) + 1
        now = max(incident.impact.gpu_seconds_lost, lost)
        self._shown[incident.id] = (key, now)
        if now > lost or (job, fault) not in self._lost:
            self._lost[job, fault] = self._lost.pop((job, fault), 0.0) + now - lost
            if len(self._lost) > MOST_COSTS:
                del self._lost[next(iter(self._lost))]

    def forget(self, incident: IncidentId) -> None:
        """Let go of an incident that is no longer in memory."""
        held, _ = self._shown.pop(incident, (None, 0.0))
        if held is not None:
            self._less(held)

    def _less(self, key: CountKey) -> None:
        self._count[key] -= 1
        if not self._count[key]:
            del self._count[key]
