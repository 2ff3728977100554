"""Which incidents there are: one for each root cause and scope, over as many jobs as it affects.

Each second the explanations of a job's findings are matched with its open incidents; where what is
left over goes is in unmatched.py. Then every incident of the job takes what was found, or its end.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..vocabulary import findings as kinds
from ..vocabulary.findings import Finding
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.incidents import Incident
from ..vocabulary.observations import JobObservation
from . import changes, matching, observations, people
from .actions import PersonAction
from .affected_job import JobHealth, is_history
from .causes.engine import RootExplanation
from .closed import ClosedIncident, ClosedIncidents
from .counterfactuals import StepMeter, unmeasured
from .lifecycle import IncidentChange, TrackedIncident
from .losses import LossAccount
from .observations import ObservationLog
from .open_incidents import OpenIncidents
from .outside import TimelineNote
from .policy import IncidentPolicy
from .repairs import AwaitedRepairs, Seen, unread
from .unmatched import UnmatchedFindings

Explain = Callable[[Sequence[Finding]], Sequence[RootExplanation]]
Notes = Callable[[float], Iterable[TimelineNote]]
Stacks = Callable[[float], Mapping[int, str]]


def no_notes(_opened_at: float) -> Iterable[TimelineNote]:
    """Return nothing: nobody else reports anything."""
    return ()


def no_stacks(_since: float) -> Mapping[int, str]:
    """Return nothing: no process has shown its stack."""
    return {}


class IncidentTracker:
    """Every incident, open and resolved, and what was found that is none (`observations`)."""

    def __init__(self, policy: IncidentPolicy | None = None) -> None:
        self.policy = policy or IncidentPolicy()
        self._open = OpenIncidents()
        self._closed = ClosedIncidents()
        self._incidents: dict[IncidentId, Incident] = {}
        self._unmatched = UnmatchedFindings(self._open, self._closed, self._incidents, self.policy)
        self._ended = ObservationLog()
        self.losses = LossAccount()
        self.repairs = AwaitedRepairs()

    @property
    def incidents(self) -> Mapping[IncidentId, Incident]:
        """Return every incident in memory by id, as last decided; resolved ones are bounded."""
        return self._incidents

    def observations(self) -> list[JobObservation]:
        """Return what was seen of any job and is no incident, the newest first."""
        lasting = (row for incident in self._open for row in observations.of(incident))
        return observations.in_order({*lasting, *self._ended})

    def forget(self, now: float) -> None:
        """Let go of observations that are too old."""
        self._ended.forget(now)

    def has_open(self, job: Job) -> bool:
        """Return whether something of a job is followed, an observation too."""
        return bool(self._open.of_job(job))

    def of_job(self, job: Job) -> Sequence[TrackedIncident]:
        return self._open.of_job(job)

    def slows(self, job: Job) -> bool:
        """Return whether a job has an open incident that changes what its steps look like.

        A clock that is off, or memory that grows, leaves step times as they were. A named
        cause of level info is how the job is: rank 0 that does more than its peers must not keep
        their habits unknown. Nor must devices whose clocks are uneven, while no step is slow.
        """
        catalogue = kinds.catalogue()
        return any(
            catalogue[kind].effect != "none"
            for incident in self._open.of_job(job)
            if not incident.minor
            for kind in incident.held_kinds(job)
            if incident.severity != "info" or catalogue[kind].entities != ("gpu",)
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
        meter: StepMeter = unmeasured,
    ) -> list[IncidentChange]:
        """Take what was found about one job at `now`; return what changed.

        `notes` gives what others reported around a time of onset, for timelines; `stacks` the
        newest stack of each rank since a time, for incidents that stop the job; `seen` when a
        device last worked; `meter` compares the job's steps with those without a cause, and is
        asked only where a document is made anew.
        """
        incidents = [incident for incident in self._open.of_job(job) if incident.open]
        live = [finding for finding in findings if not is_history(finding, health)]
        found = () if health.over or not live else explain(live)
        found = changes.shared(found, self._open)
        pairs = matching.matched(job, attempt, incidents, found)
        used = {id(explanation) for explanation in pairs.values()}
        for explanation in found:
            if id(explanation) in used or matching.left_over(explanation, incidents, pairs, job):
                continue
            belongs = self._unmatched.incident_of(job, explanation, incidents, health, now)
            if belongs is not None:
                incident, explanation = belongs
                self._ended.take(incident)
                if incident not in incidents:
                    incidents.append(incident)
                pairs.setdefault(incidents.index(incident), explanation)
        return self._advance(job, incidents, pairs, health, now, notes, stacks, seen, meter)

    def repaired(self, seen: Seen, now: float) -> list[IncidentChange]:
        """Return the ends of incidents that were open for a device alone, which is back."""
        made = list(self.repairs.ended(seen, now))
        for change, incident in made:
            self.note(change, incident)
        return [change for change, _ in made]

    def act(self, action: PersonAction, now: float) -> list[IncidentChange]:
        """Apply what a person did; return what changed, nothing for an unknown incident."""
        if action.incident is None:
            return []
        incident = self.find(action.incident)
        change = None if incident is None else people.apply(action, incident, now)
        if incident is None or change is None:
            return []
        self.note(change, incident)
        return [change]

    def remember(self, incidents: Iterable[ClosedIncident]) -> None:
        """Take in incidents of an earlier process, so that none is announced again.

        One that was open goes on under its id when its symptoms are found again.
        """
        for incident in incidents:
            self._closed.remember(incident)

    def _advance(
        self,
        job: Job,
        incidents: Sequence[TrackedIncident],
        pairs: Mapping[int, RootExplanation],
        health: JobHealth,
        now: float,
        notes: Notes,
        stacks: Stacks,
        seen: Seen,
        meter: StepMeter,
    ) -> list[IncidentChange]:
        made: list[tuple[IncidentChange, TrackedIncident]] = []
        joined: list[TrackedIncident] = []
        self._open.put(job, incidents)
        for number, incident in enumerate(incidents):
            explanation = pairs.get(number)
            change = None
            if explanation is None:
                change = self._merged(job, incident, incidents, pairs, now)
            elif (other := self._of_one_change(job, incident, explanation)) is not None:
                change = self._explained_by(other, incident, now)
                joined.append(other)
                more = other.advance(job, explanation, health, now, self.policy, meter=meter)
                if more is not None:
                    made.append((more, other))
            if change is None:
                over = explanation is None or health.over
                gone = over and incident.announced and self.repairs.needed(incident, seen, now)
                change = incident.advance(
                    job, explanation, health, now, self.policy, gone=gone, meter=meter
                )
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
        for incident in {incident.id: incident for _, incident in made}.values():
            incident.measure(job, meter, now)
        counted = [(incident.counted(change), incident) for change, incident in made]
        for change, incident in counted:
            self.note(change, incident)
        for incident in touched:
            if not incident.announced:
                self._take_end(incident)
        self._open.put(job, [incident for incident in touched if incident.open])
        return [change for change, _ in counted]

    def _merged(
        self,
        job: Job,
        incident: TrackedIncident,
        incidents: Sequence[TrackedIncident],
        pairs: Mapping[int, RootExplanation],
        now: float,
    ) -> IncidentChange | None:
        """Resolve an incident whose scope lies within the root of another one of its job."""
        if incident.first is None:
            return None
        for number, explanation in pairs.items():
            other = incidents[number]
            if other is not incident and matching.includes(explanation, incident, job):
                return self._explained_by(other, incident, now)
        return None

    def _of_one_change(
        self, job: Job, incident: TrackedIncident, explanation: RootExplanation
    ) -> TrackedIncident | None:
        """Return another job's incident of the change that this one turns out to be about."""
        if changes.change_of(explanation) is None or incident.first is None:
            return None
        other = self._unmatched.shared(explanation, job)
        return other if other is not incident else None

    @staticmethod
    def _explained_by(
        other: TrackedIncident, incident: TrackedIncident, now: float
    ) -> IncidentChange | None:
        """End what another incident explains; return the change if it was an incident."""
        if not incident.announced:
            incident.end(now, at=now)
            return None
        other.owed_at = now
        text, notify = f"explained by incident {other.id}", incident.notices.severity is not None
        return incident.resolve(now, text, at=now, notify=notify)

    def find(self, name: IncidentId) -> TrackedIncident | None:
        """Return an incident, open or resolved, while it is in memory."""
        document = self._incidents.get(name)
        for held in (self._closed.incidents, self.repairs.waiting):
            if name in held and document is not None:
                return held[name]
        rows = self._open.of_job(Job(document.job or "")) if document is not None else ()
        return next((incident for incident in rows if incident.id == name), None)

    def note(self, change: IncidentChange, incident: TrackedIncident) -> None:
        """Take a change of an incident, its end too."""
        self._incidents[change.incident.id] = change.incident
        self.repairs.take(incident)
        self._take_end(incident)

    def _take_end(self, incident: TrackedIncident) -> None:
        """Take the end of what is over, an observation's too."""
        if incident.open or incident.id in self._closed.incidents:
            return
        self._open.remove(incident)
        self._ended.add(incident)
        for old in self._closed.add(incident):
            self._incidents.pop(old.id, None)
