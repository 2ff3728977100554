"""Observations: what was found and is no incident, while it lasts and for a while after its end.

They are followed as incidents are, so that one of which an effect is found later is an incident
with all that was seen of it before.
"""

from collections.abc import Collection, Iterable, Iterator

from ..vocabulary import findings as kinds
from ..vocabulary.ids import IncidentId, Job
from ..vocabulary.observations import JobObservation
from .causes.catalogue import cause_of
from .lifecycle import TrackedIncident

KEPT_SECONDS = 7 * 86_400.0
"""How long an observation is kept after its end."""

KEPT_OF_A_JOB = 200
"""Observations of one job that are kept after their end, the newest."""

KEPT_JOBS = 2_000
"""Jobs of which some are kept: those of which one ended last."""


def of(incident: TrackedIncident) -> Iterator[JobObservation]:
    """Yield the observations that are followed as one thing.

    Of an incident only what has no effect on its jobs and is not what its first cause explains:
    samples that come again are not the reason of slow steps.
    """
    explained = _explained(incident) if incident.announced else None
    for part in incident.parts.values():
        for key, symptom in part.symptoms.items():
            if explained is not None and not _beside(symptom.kind, explained):
                continue
            found_at = part.found_at[key]
            lasts = incident.open and found_at == part.last_active
            yield JobObservation(
                at=symptom.onset,
                job=part.job,
                kind=symptom.kind,
                entity=symptom.entity,
                text=symptom.text,
                magnitude=symptom.magnitude,
                until=None if lasts else found_at,
            )


def _explained(incident: TrackedIncident) -> Collection[str]:
    """Return the kinds of symptoms that the first cause of an incident explains."""
    cause = cause_of(incident.root[0])
    return () if cause is None else cause.symptoms


def _beside(kind: str, explained: Collection[str]) -> bool:
    meaning = kinds.catalogue()[kind]
    return meaning.effect == "none" and meaning.asks_from is None and kind not in explained


def in_order(rows: Iterable[JobObservation]) -> list[JobObservation]:
    """Return observations, the newest first."""
    return sorted(rows, key=lambda row: (-row.at, row.job, row.kind, row.entity, row.text))


class ObservationLog:
    """Observations that are over, by job and by what was followed, the oldest first."""

    def __init__(self) -> None:
        self._jobs: dict[Job, dict[IncidentId, list[JobObservation]]] = {}

    def __iter__(self) -> Iterator[JobObservation]:
        for held in self._jobs.values():
            for rows in held.values():
                yield from rows

    def add(self, ended: TrackedIncident) -> None:
        """Take what has ended; what was followed under its id before is a part of it."""
        by_job: dict[Job, list[JobObservation]] = {}
        for row in of(ended):
            by_job.setdefault(row.job, []).append(row)
        for job, rows in by_job.items():
            held = self._jobs[job] = self._jobs.pop(job, {})
            held.pop(ended.id, None)
            held[ended.id] = rows
            while len(held) > 1 and sum(map(len, held.values())) > KEPT_OF_A_JOB:
                del held[next(iter(held))]
        while len(self._jobs) > KEPT_JOBS:
            del self._jobs[next(iter(self._jobs))]

    def take(self, returned: TrackedIncident) -> None:
        """Let go of what is followed again."""
        for job in returned.parts:
            self._jobs.get(job, {}).pop(returned.id, None)

    def forget(self, now: float) -> None:
        """Let go of what ended too long ago."""
        for job, held in list(self._jobs.items()):
            for name, rows in list(held.items()):
                if all(row.until is not None and now - row.until > KEPT_SECONDS for row in rows):
                    del held[name]
            if not held:
                del self._jobs[job]
