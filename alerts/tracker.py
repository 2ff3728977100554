"""Which symptoms belong together: findings of one job fold into as few cases as causes.

A symptom joins the open case that already has it, else one whose symptoms began close to its own
onset; only then does it open a case. Findings that are no symptom are evidence for every open
case of their job; what merely waits is thereby explained, not accused.
"""

from collections.abc import Callable, Mapping, Sequence

from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import Incident, RootCause
from .actions import Action
from .lifecycle import Change, JobHealth, TrackedIncident, is_symptom, open_incident

TOGETHER_SECONDS = 120.0
"""Symptoms of one job that begin within this time of each other have one cause."""

KEPT_RESOLVED = 2_000
"""Resolved cases kept in memory; the store keeps all of them."""

Explain = Callable[[Sequence[Finding]], RootCause]


class IncidentTracker:
    """Every case, open and resolved."""

    def __init__(self) -> None:
        self._open: dict[Job, list[TrackedIncident]] = {}
        self._incidents: dict[IncidentId, Incident] = {}

    @property
    def incidents(self) -> Mapping[IncidentId, Incident]:
        """Return every incident by id, as last decided."""
        return self._incidents

    def has_open(self, job: Job) -> bool:
        """Tell whether a job has an open case."""
        return bool(self._open.get(job))

    def update(
        self,
        job: Job,
        attempt: int,
        findings: Sequence[Finding],
        explain: Explain,
        health: JobHealth,
        now: float,
    ) -> list[Change]:
        """Fold one job's findings at `now` into its cases; return what changed."""
        tracker = self._open.setdefault(job, [])
        symptoms = [finding for finding in findings if is_symptom(finding)]
        evidence = [finding for finding in findings if not is_symptom(finding)]
        assigned: dict[int, list[Finding]] = {number: [] for number in range(len(tracker))}
        for symptom in symptoms:
            number = _home(tracker, symptom, attempt)
            if number is None:
                if _resolved_already(self._incidents, job, symptom):
                    continue
                tracker.append(open_incident(job, attempt, symptom, now))
                number = len(tracker) - 1
                assigned[number] = []
            begun = tracker[number].symptoms_begun
            if not any(kind == symptom.kind for kind, _ in begun):
                begun.append((symptom.kind, symptom.onset[0]))
            assigned[number].append(symptom)
        changes = []
        for number, case in enumerate(tracker):
            mine = assigned[number]
            cause = explain([*mine, *evidence]) if mine else None
            change = case.advance(mine, evidence, cause, health, now)
            if change is not None:
                self._incidents[change.incident.id] = change.incident
                changes.append(change)
        self._open[job] = [case for case in tracker if case.resolved_at is None]
        self._forget()
        return changes

    def act(self, action: Action, now: float) -> list[Change]:  # noqa: ARG002  filled in next
        """Apply what a person did; return what changed, nothing for an unknown incident."""
        return []

    def _forget(self) -> None:
        extra = len(self._incidents) - KEPT_RESOLVED
        if extra <= 0:
            return
        resolved = [key for key, row in self._incidents.items() if row.status == "resolved"]
        for key in resolved[:extra]:
            del self._incidents[key]


def _home(tracker: Sequence[TrackedIncident], symptom: Finding, attempt: int) -> int | None:
    """Return the number of the case a symptom belongs to, None when it opens its own."""
    for number, case in enumerate(tracker):
        if case.attempt == attempt and any(k == symptom.kind for k, _ in case.symptoms_begun):
            return number
    for number, case in enumerate(tracker):
        begun = [onset for _, onset in case.symptoms_begun]
        near = min(begun) - TOGETHER_SECONDS <= symptom.onset[0] <= max(begun) + TOGETHER_SECONDS
        if case.attempt == attempt and near:
            return number
    return None


def _resolved_already(incidents: Mapping[IncidentId, Incident], job: Job, symptom: Finding) -> bool:
    """Tell whether the symptom is the tail of a case that was resolved: same kind, same onset."""
    return any(
        row.status == "resolved"
        and row.job == job
        and any(
            held.kind == symptom.kind and abs(held.onset - symptom.onset[0]) < 1.0
            for held in row.symptoms
        )
        for row in incidents.values()
    )
