"""Which incidents there are: one for each root cause and scope, over as many jobs as it affects.

Each second the explanations of a job's findings are matched with its open incidents. What is left
over reopens an incident that returned, joins one that another job has on the same entity, or opens
its own; the tail of an incident that is over opens nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..vocabulary import faults
from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import Incident
from . import changes, first_cause, matching, people
from .actions import Action
from .affected_job import JobHealth, is_history
from .causes.engine import Explanation
from .closed import REOPEN_SECONDS, ClosedIncidents, PastIncident
from .lifecycle import Change, TrackedIncident, incident_id
from .losses import Losses
from .outside import Note
from .repairs import Repairs, Seen, unread
from .severity import severity, worse

Explain = Callable[[Sequence[Finding]], Sequence[Explanation]]
Notes = Callable[[float], Iterable[Note]]
Stacks = Callable[[float], Mapping[int, str]]


def no_notes(_opened_at: float) -> Iterable[Note]:
    """Return nothing: nobody else reports anything."""
    return ()


def no_stacks(_since: float) -> Mapping[int, str]:
    """Return nothing: no process has shown its stack."""
    return {}


class IncidentTracker:
    """Every incident, open and resolved."""

    def __init__(self) -> None:
        self._open: dict[Job, list[TrackedIncident]] = {}
        self._closed = ClosedIncidents()
        self._incidents: dict[IncidentId, Incident] = {}
        self.losses = Losses()
        self.repairs = Repairs()

    @property
    def incidents(self) -> Mapping[IncidentId, Incident]:
        """Return every incident in memory by id, as last decided; resolved ones are bounded."""
        return self._incidents

    def has_open(self, job: Job) -> bool:
        """Return whether a job has an open incident."""
        return bool(self._open.get(job))

    def of_job(self, job: Job) -> Sequence[TrackedIncident]:
        """Return the open incidents of a job."""
        return tuple(self._open.get(job, ()))

    def slows(self, job: Job) -> bool:
        """Return whether a job has an open incident that changes what its steps look like.

        A clock that is off, or memory that grows, leaves step times as they were. A named
        cause of level info is how the job is: rank 0 that does more than its peers must not keep
        their habits unknown.
        """
        catalogue = kinds.catalogue()
        return any(
            catalogue[kind].effect != "none"
            for incident in self._open.get(job, ())
            if not incident.minor
            for kind in incident.held_kinds(job)
        )

    def next_due(self, job: Job, now: float) -> float:
        """Return the earliest second at which time alone could change an incident of a job."""
        return now + 1.0 if self.has_open(job) else float("inf")

    def update(
        self,
        job: Job,
        attempt: int,
        findings: Sequence[Finding],
        explain: Explain,
        health: JobHealth,
        now: float,
        *,
        notes: Notes = no_notes,
        stacks: Stacks = no_stacks,
        seen: Seen = unread,
    ) -> list[Change]:
        """Take what was found about one job at `now`; return what changed.

        `notes` gives what others reported around a time of onset, for timelines; `stacks` the
        newest stack of each rank since a time, for incidents that stop the job; `seen` when a
        device last worked.
        """
        incidents = [incident for incident in self._open.get(job, ()) if incident.open]
        live = [finding for finding in findings if not is_history(finding, health)]
        found = () if health.over or not live else explain(live)
        found = changes.shared(found, (row for rows in self._open.values() for row in rows))
        pairs = matching.matched(job, attempt, incidents, found)
        used = {id(explanation) for explanation in pairs.values()}
        for explanation in found:
            if id(explanation) in used or matching.left_over(explanation, incidents, pairs, job):
                continue
            home = self._home(job, explanation, incidents, health, now)
            if home is not None:
                incident, explanation = home
                if incident not in incidents:
                    incidents.append(incident)
                pairs.setdefault(incidents.index(incident), explanation)
        return self._advance(job, incidents, pairs, health, now, notes, stacks, seen)

    def repaired(self, seen: Seen, now: float) -> list[Change]:
        """Return the ends of incidents that were open for a device alone, which is back."""
        made = list(self.repairs.ended(seen, now))
        for change, incident in made:
            self.note(change, incident)
        return [change for change, _ in made]

    def act(self, action: Action, now: float) -> list[Change]:
        """Apply what a person did; return what changed, nothing for an unknown incident."""
        if action.incident is None:
            return []
        incident = self.find(action.incident)
        change = None if incident is None else people.apply(action, incident, now)
        if incident is None or change is None:
            return []
        self.note(change, incident)
        return [change]

    def remember(self, incidents: Iterable[PastIncident]) -> None:
        """Take in incidents of an earlier process, so that none is announced again.

        One that was open goes on under its id when its symptoms are found again.
        """
        for incident in incidents:
            self._closed.remember(incident)

    def _advance(
        self,
        job: Job,
        incidents: Sequence[TrackedIncident],
        pairs: Mapping[int, Explanation],
        health: JobHealth,
        now: float,
        notes: Notes,
        stacks: Stacks,
        seen: Seen,
    ) -> list[Change]:
        made: list[tuple[Change, TrackedIncident]] = []
        joined: list[TrackedIncident] = []
        self._open[job] = list(incidents)
        for number, incident in enumerate(incidents):
            explanation = pairs.get(number)
            change = None
            if explanation is None:
                change = self._merged(job, incident, incidents, pairs, now)
            elif (other := self._of_one_change(incident, explanation)) is not None:
                change = self._explained_by(other, incident, now)
                joined.append(other)
                if (more := other.advance(job, explanation, health, now)) is not None:
                    made.append((more, other))
            if change is None:
                over = explanation is None or health.over
                gone = over and self.repairs.needed(incident, seen, now)
                change = incident.advance(job, explanation, health, now, gone=gone)
            news = incident.open and incident.note(notes(incident.opened_at), now)
            if incident.open and incident.stops(job):
                news |= incident.take_stacks(stacks(incident.opened_at), now)
            if news:
                kind = "incident.updated" if change is None else change.kind
                notify = change is not None and change.notify
                change = incident.change(kind, now, notify=notify)
            if change is not None:
                made.append((change, incident))
        touched = {incident.id: incident for incident in (*incidents, *joined)}.values()
        self.losses.settle(job, touched, health.ranks)
        counted = [(incident.counted(change), incident) for change, incident in made]
        for change, incident in counted:
            self.note(change, incident)
        self._open[job] = [incident for incident in touched if incident.open]
        if not self._open[job]:
            del self._open[job]
        return [change for change, _ in counted]

    def _home(
        self,
        job: Job,
        explanation: Explanation,
        incidents: Sequence[TrackedIncident],
        health: JobHealth,
        now: float,
    ) -> tuple[TrackedIncident, Explanation] | None:
        """Return the incident that an unmatched explanation belongs to, None for a tail."""
        symptoms = tuple(s for s in explanation.symptoms if not self._closed.is_tail(job, s, now))
        if not symptoms:
            return None
        explanation = Explanation(explanation.cause, symptoms)
        ended = self._resolved_by_person(job, explanation, now)
        if ended is not None:
            symptoms, reopened = ended
            if reopened is not None:
                return reopened, explanation
            if not symptoms:
                return None
            explanation = Explanation(explanation.cause, symptoms)
        incident = self._returned(job, explanation, now) or self._shared(explanation)
        if incident is None:
            idle = (row for row in incidents if row.open and row.without_symptoms(now))
            incident = next((row for row in idle if matching.shows_why(row, explanation)), None)
        if incident is None:
            incident = self._new(job, explanation, incidents, health, now)
        return incident, explanation

    def _resolved_by_person(
        self, job: Job, explanation: Explanation, now: float
    ) -> tuple[tuple[Finding, ...], TrackedIncident | None] | None:
        """Return the symptoms that a person has not resolved, and what got worse since they did.

        None where no such incident lasts on. What a person resolved stays quiet until its symptoms
        are gone for a while and return, or it gets worse.
        """
        for incident in self._closed.of_job(job):
            held = incident.held_kinds(job)
            part = incident.parts.get(job)
            if incident.handling.resolved is None or part is None:
                continue
            lasting = now - part.last_active <= incident.notices.calm_seconds
            same = [s for s in explanation.symptoms if s.kind in held]
            if not lasting or not same:
                continue
            part.last_active = now
            new = tuple(s for s in explanation.symptoms if s.kind not in held)
            lasted, step = now - incident.detected_at, part.health.step_seconds
            bad = severity(explanation.symptoms, explanation.cause, lasted, step)
            if not new and worse(bad, incident.severity):
                self._reopen(incident, now, f"worse since it was resolved: {bad}")
                return (), incident
            return new, None
        return None

    def _returned(self, job: Job, explanation: Explanation, now: float) -> TrackedIncident | None:
        """Reopen the incident whose root is back, or whose symptom is while no root is named."""
        root = first_cause.key(explanation.cause)
        shown = {symptom.kind for symptom in explanation.symptoms}
        for incident in self._closed.of_job(job):
            late = incident.awaited_at is None and now - incident.closed_at > REOPEN_SECONDS
            if late or not shown & incident.held_kinds(job):
                continue
            again = matching.is_return(incident, explanation, job)
            if again or incident.root == root or faults.UNKNOWN in (root[0], incident.root[0]):
                if again:
                    incident.first = first_cause.FirstCause(explanation.cause, now, now)
                self._reopen(incident, now, explanation.symptoms[0].text)
                return incident
        return None

    def _reopen(self, incident: TrackedIncident, now: float, text: str) -> None:
        self._closed.take(incident)
        incident.reopen(now, text)
        for job in incident.parts:
            self._open.setdefault(job, [])
            if incident not in self._open[job]:
                self._open[job].append(incident)

    def _shared(self, explanation: Explanation) -> TrackedIncident | None:
        """Return another job's open incident with the same root, on what jobs can share."""
        root = first_cause.key(explanation.cause)
        one_change = changes.change_of(explanation) is not None
        if root[0] == faults.UNKNOWN or not (root[1] in matching.SHARED_TYPES or one_change):
            return None
        return next(
            (
                incident
                for incidents in self._open.values()
                for incident in incidents
                if incident.open and incident.document is not None and incident.root == root
            ),
            None,
        )

    def _new(
        self,
        job: Job,
        explanation: Explanation,
        incidents: Sequence[TrackedIncident],
        health: JobHealth,
        now: float,
    ) -> TrackedIncident:
        first = min(explanation.symptoms, key=lambda s: (s.onset[0], s.kind, s.entity))
        past = self._closed.open_past(job, first)
        if past is not None:
            return TrackedIncident(
                past.id,
                health.attempt,
                past.opened_at,
                past.detected_at,
                handling=past.handling,
                timeline=list(past.moments),
            )
        begun = (first.onset[0] + first.onset[1]) / 2
        name = incident_id(job, first.kind, begun)
        if name in self._incidents or any(name == incident.id for incident in incidents):
            # Another root of the same symptom.
            root = "\0".join(first_cause.key(explanation.cause))
            name = incident_id(job, f"{first.kind}\0{root}", begun)
        return TrackedIncident(name, health.attempt, begun, now)

    def _merged(
        self,
        job: Job,
        incident: TrackedIncident,
        incidents: Sequence[TrackedIncident],
        pairs: Mapping[int, Explanation],
        now: float,
    ) -> Change | None:
        """Resolve an incident whose scope lies within the root of another one of its job."""
        if incident.document is None:
            return None
        for number, explanation in pairs.items():
            other = incidents[number]
            if other is not incident and matching.includes(explanation, incident, job):
                return self._explained_by(other, incident, now)
        return None

    def _of_one_change(
        self, incident: TrackedIncident, explanation: Explanation
    ) -> TrackedIncident | None:
        """Return another job's incident of the change that this one turns out to be about."""
        if changes.change_of(explanation) is None or incident.document is None:
            return None
        other = self._shared(explanation)
        return other if other is not incident else None

    @staticmethod
    def _explained_by(other: TrackedIncident, incident: TrackedIncident, now: float) -> Change:
        """Resolve an incident that another one explains."""
        text, notify = f"explained by incident {other.id}", incident.notices.severity is not None
        return incident.resolve(now, text, at=now, notify=notify)

    def find(self, name: IncidentId) -> TrackedIncident | None:
        """Return an incident, open or resolved, while it is in memory."""
        for held in (self._closed.incidents, self.repairs.waiting):
            if name in held:
                return held[name]
        document = self._incidents.get(name)
        rows = self._open.get(Job(document.job or ""), ()) if document is not None else ()
        return next((incident for incident in rows if incident.id == name), None)

    def note(self, change: Change, incident: TrackedIncident) -> None:
        """Take a change of an incident, its end too."""
        self._incidents[change.incident.id] = change.incident
        self.repairs.take(incident)
        if incident.open or incident.id in self._closed.incidents:
            return
        for job in incident.parts:
            left = [row for row in self._open.get(job, ()) if row is not incident]
            if left or job not in self._open:
                self._open[job] = left
            else:
                del self._open[job]
        for old in self._closed.add(incident):
            del self._incidents[old.id]
