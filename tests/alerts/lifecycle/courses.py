"""The course of one incident, second by second; all that is found is one from the first second."""

from tests.alerts.explaining import ALL_AT_ONCE, EVERYTHING

from rankscope.alerts.causes import engine
from rankscope.alerts.causes.engine import RootExplanation
from rankscope.alerts.lifecycle import TrackedIncident, incident_id, is_symptom
from rankscope.alerts.losses import LossAccount
from rankscope.vocabulary.ids import Job

START = 1_700_000_000.0
RUN = Job("run-1")


def explain(findings, topology):
    return engine.explain(findings, topology, observed=EVERYTHING)


class Course:
    """An incident second by second: what is found, how the job does, what changed."""

    def __init__(self, topology, health):
        self.topology, self.health = topology, health
        self.incident = None
        self.losses = LossAccount()
        self.changes = []

    def at(self, now, *findings, cause=None, attempt=0, **health):
        symptoms = tuple(f for f in findings if is_symptom(f))
        if self.incident is None:
            first, onset = symptoms[0].kind, symptoms[0].onset[0]
            name = incident_id(RUN, first, onset)
            self.incident = TrackedIncident(name, attempt, onset, START + now)
        found = None
        if symptoms:
            found = RootExplanation(cause or explain(findings, self.topology), symptoms)
        job = self.health(health.pop("stepped", now - 1.0), attempt=attempt, **health)
        change = self.incident.advance(RUN, found, job, START + now, ALL_AT_ONCE)
        self.losses.settle(RUN, [self.incident], job.ranks)
        if change is not None:
            change = self.incident.counted(change)
            self.changes.append(change)
        return change

    @property
    def notices(self):
        return [change.kind.removeprefix("incident.") for change in self.changes if change.notify]

    @property
    def now(self):
        return self.changes[-1].incident
