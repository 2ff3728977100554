"""Alarms of a simple method, and how they become incidents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....vocabulary.entities import Entity
from ....vocabulary.faults import UNKNOWN, Severity
from ....vocabulary.ranks import RankSet
from ....vocabulary.samples import Event
from ..seen import SeenIncident, worst

GROUP_SECONDS = 300.0
"""Alarms closer than this belong to one incident."""
NAMING_SECONDS = 30.0
"""The entity of an incident is chosen among the alarms of so long after its first."""


Received = Sequence[tuple[float, Event]]
"""Events, each with when it was received (epoch s)."""


@dataclass(frozen=True, slots=True)
class MethodAlarm:
    """A method says at `at` (epoch s) that this entity is unusual; `score` compares alarms."""

    at: float
    entity: Entity
    score: float
    text: str
    severity: Severity = "warning"


def grouped(alarms: Iterable[MethodAlarm], job: str) -> tuple[SeenIncident, ...]:
    """Return the incidents that these alarms make, in order of time."""
    groups: list[list[MethodAlarm]] = []
    for alarm in sorted(alarms, key=lambda row: (row.at, -row.score, row.entity)):
        if groups and alarm.at - groups[-1][-1].at <= GROUP_SECONDS:
            groups[-1].append(alarm)
        else:
            groups.append([alarm])
    return tuple(_incident(number, group, job) for number, group in enumerate(groups))


def _incident(number: int, group: list[MethodAlarm], job: str) -> SeenIncident:
    first = group[0].at
    naming = [row for row in group if row.at <= first + NAMING_SECONDS]
    loudest = max(naming, key=lambda row: row.score)
    return SeenIncident(
        id=str(number),
        jobs=(job,),
        severity=worst([row.severity for row in group]),
        opened_at=first,
        detected_at=first,
        above_info_at=first,
        fault=UNKNOWN,
        entity=loudest.entity,
        standing_out=RankSet(),
        symptoms=(loudest.text,),
        summary=f"{loudest.entity}: {loudest.text}",
    )
