"""What a collector would decide about the cluster, with its mistakes: late, provisional, wrong.

A cause is first provisional, and names now and then a healthy peer. Stable ones name the right
place: those that do not are unsure, claimed or of several jobs, and must not be acted on. Documents
are made by the shapes of the vocabulary, and kept as evaluation keeps them.
"""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rankscope.alerts.lifecycle import IncidentChange
from rankscope.vocabulary import entities
from rankscope.vocabulary.entities import Entity
from rankscope.vocabulary.ids import Fault, IncidentId
from rankscope.vocabulary.incidents import (
    CauseStatus,
    DataQuality,
    Evidence,
    Happening,
    Hypothesis,
    Impact,
    Incident,
    RootCause,
    Symptom,
    TimelineMoment,
    UnknownScore,
)

from .cluster import TrialCluster, TrialJob

RENEWED_SECONDS = 30.0
CALM_SECONDS = 30.0
STABLE_SECONDS = 20.0

Mistake = Literal["", "unsure", "claimed", "shared", "unknown"]


@dataclass(slots=True)
class TrialIncident:
    """One incident, as its document will show it."""

    id: str
    job: str
    fault: str
    entity: Entity
    began_at: float
    slowdown: float | None
    mistake: Mistake = ""
    wrong_until: float = 0.0
    wrong_host: str = ""
    kept_at: float = 0.0
    kept_status: str = ""
    calm_since: float | None = None
    over: bool = False
    timeline: list[TimelineMoment] = field(default_factory=list[TimelineMoment])


class TrialVerdicts:
    """Opens, renews and ends incidents as the cluster's troubles come and go."""

    def __init__(self, cluster: TrialCluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._open: dict[tuple[str, str], TrialIncident] = {}
        self._decoys = 0

    def changes(self, now: float) -> list[IncidentChange]:
        """Return what is decided at `now`."""
        for job in self._cluster.jobs.values():
            for fault, entity in self._troubles(job, now):
                key = (job.name, str(entity))
                if key not in self._open:
                    self._open[key] = self._opened(job, fault, entity, now)
        made = []
        for key, incident in list(self._open.items()):
            change = self._changed(incident, now)
            if change is not None:
                made.append(change)
            if incident.over:
                del self._open[key]
        return made

    def decoy(self, job: TrialJob, mistake: Mistake, now: float) -> None:
        """Open an incident that names a healthy node, in a way that nobody may act on."""
        self._decoys += 1
        node = self._chance.choice(job.nodes)
        incident = self._opened(job, "gpu.lost", entities.host(node.name), now)
        incident.mistake, incident.wrong_until = mistake, 0.0
        self._open[job.name, f"decoy {self._decoys}"] = incident

    def _troubles(self, job: TrialJob, now: float) -> Sequence[tuple[str, Entity]]:
        if job.ended:
            return ()
        found = [(node.fault, entities.host(node.name)) for node in job.nodes if node.fault]
        if job.stuck:
            found.append((job.stuck, entities.rank(3, job.nodes[0].name)))
        return found if job.trouble(now) else ()

    def _opened(self, job: TrialJob, fault: str, entity: Entity, now: float) -> TrialIncident:
        text = f"{job.name}\0{entity}\0{now}"
        peers = [node.name for node in job.nodes if node.name != entity.host]
        wrong = self._chance.choice(peers) if peers and self._chance.random() < 0.5 else ""
        return TrialIncident(
            id=hashlib.sha256(text.encode()).hexdigest()[:20],
            job=job.name,
            fault=fault,
            entity=entity,
            began_at=now,
            slowdown=None if job.trouble(now) == "stopped" else self._cluster.slow,
            wrong_until=now + self._chance.uniform(0.0, STABLE_SECONDS) if wrong else 0.0,
            wrong_host=wrong,
        )

    def _changed(self, incident: TrialIncident, now: float) -> IncidentChange | None:
        job = self._cluster.jobs[incident.job]
        lasts = incident.mistake != "" and now - incident.began_at < 400.0
        lasts |= any(entity == incident.entity for _, entity in self._troubles(job, now))
        if not lasts:
            incident.calm_since = incident.calm_since or now
            calm = 300.0 if job.ended else CALM_SECONDS
            if now - incident.calm_since < calm:
                return None
            incident.over = True
            return self._change(incident, "incident.resolved", now)
        incident.calm_since = None
        status = self._status(incident, now)
        if status == incident.kept_status and now - incident.kept_at < RENEWED_SECONDS:
            return None
        kind: Happening = "incident.updated" if incident.kept_status else "incident.opened"
        return self._change(incident, kind, now)

    def _status(self, incident: TrialIncident, now: float) -> CauseStatus:
        wrong = now < incident.wrong_until
        stable = not wrong and now - max(incident.began_at, incident.wrong_until) >= STABLE_SECONDS
        return "stable" if stable else "provisional"

    def _change(self, incident: TrialIncident, kind: Happening, now: float) -> IncidentChange:
        status = self._status(incident, now)
        entity, fault = incident.entity, incident.fault
        if now < incident.wrong_until:
            entity, fault = entities.host(incident.wrong_host), "host.driver_hang"
        probability = 0.7 if incident.mistake == "unsure" else 0.98
        if incident.mistake == "unknown":
            fault = "unknown"
        score, window = 6.0, (now - 10, now)
        evidence = Evidence(
            "supports", "gpu", entity, "gpu.fault", window, 1.0, 0.0, 5.5, "it is broken",
            quality="claimed" if incident.mistake == "claimed" else "",
        )  # fmt: skip
        cause = Hypothesis(1, Fault(fault), entity, score, probability, "high", (evidence,), (), "")
        incident.kept_at, incident.kept_status = now, status
        if not incident.timeline:
            incident.timeline.append(TimelineMoment(now, "opened", "it is slow"))
        jobs: tuple[str, ...] = (incident.job,)
        if incident.mistake == "shared":
            jobs = tuple(self._cluster.jobs)
        over = kind == "incident.resolved"
        document = Incident(
            id=IncidentId(incident.id),
            jobs=jobs,
            attempt=0,
            cluster=None,
            status="resolved" if over else "open",
            severity="critical",
            opened_at=incident.began_at,
            detected_at=incident.began_at,
            updated_at=now,
            resolved_at=now if over else None,
            summary="it is slow",
            symptoms=(Symptom("job.slow", entity, incident.began_at, 1.5, "trial", "slow"),),
            root_cause=RootCause(
                status, "trial", "1", (cause,), UnknownScore(1.0, ()), (),
                DataQuality((), 0.0, 1.0),
            ),
            impact=Impact(8, 1, incident.slowdown, 1.0),
            timeline=tuple(incident.timeline),
        )  # fmt: skip
        return IncidentChange(kind, document, notify=False)
