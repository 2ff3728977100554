"""What partitions write to each other's logs about incidents, as values and as JSON.

A `RootClaim` goes to the correlator, its `ClaimAnswer` to the partition that claimed, an
`IncidentPart` to the partition of the incident that others were folded into. Each may arrive twice.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any, cast

from ...vocabulary.entities import Entity, EntityType
from ...vocabulary.faults import Severity
from ...vocabulary.ids import IncidentId, Job
from ...vocabulary.incidents import Symptom
from ...vocabulary.ranks import RankSet
from ..affected_job import JobHealth


@dataclass(frozen=True, slots=True)
class RootClaim:
    """An incident blames a root, as of `at`; `ended`: it does no more.

    `onset` is when its symptoms began. `into` and `into_partition` say into which incident it is
    folded by now (None and 0: into none). `by_person`: it ended because a person resolved it.
    """

    incident: IncidentId
    partition: int
    root: str
    onset: float
    at: float
    into: IncidentId | None
    into_partition: int
    ended: bool = False
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """The incident that has the root which `incident` blames, and its partition."""

    incident: IncidentId
    root: str
    into: IncidentId
    into_partition: int


@dataclass(frozen=True, slots=True)
class IncidentPart:
    """How a job of another partition does that is a part of incident `into`, as of `at`.

    Fields are those of `AffectedJob`; `over`: the job is no part any more.
    """

    into: IncidentId
    job: Job
    attempt: int
    opened_at: float
    health: JobHealth
    symptoms: tuple[Symptom, ...]
    last_active: float
    slowdown: float | None
    lost: tuple[tuple[int, float], ...]
    stopped: bool
    severity: Severity
    over: bool
    at: float


Message = RootClaim | ClaimAnswer | IncidentPart

_NAMES: dict[str, type[Message]] = {"claim": RootClaim, "answer": ClaimAnswer, "part": IncidentPart}


class MessageError(ValueError):
    """Bytes that are no message of these."""


def pack(message: Message) -> bytes:
    """Return a message as JSON: the same message, the same bytes."""
    name = next(name for name, kind in _NAMES.items() if isinstance(message, kind))
    row = asdict(message) if not isinstance(message, IncidentPart) else _part(message)
    return json.dumps({"what": name, **row}, sort_keys=True).encode()


def unpack(body: bytes) -> Message:
    """Return the message of JSON. Raises MessageError."""
    try:
        row: dict[str, Any] = json.loads(body)
        kind = _NAMES[row.pop("what")]
        if kind is IncidentPart:
            row["health"] = JobHealth(**row["health"])
            row["symptoms"] = tuple(_symptom(symptom) for symptom in row["symptoms"])
            row["lost"] = tuple((int(week), float(lost)) for week, lost in row["lost"])
        return kind(**row)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MessageError(f"no message of a partition: {error}") from None


def _part(part: IncidentPart) -> dict[str, Any]:
    row = {name: getattr(part, name) for name in IncidentPart.__slots__}
    row["health"] = asdict(part.health)
    row["symptoms"] = [
        {
            **{name: getattr(symptom, name) for name in Symptom.__slots__},
            "entity": {
                "type": symptom.entity.type,
                "id": symptom.entity.id,
                "host": symptom.entity.host,
                "ranks": str(symptom.entity.ranks),
            },
            "ranks": str(symptom.ranks),
        }
        for symptom in part.symptoms
    ]
    return row


def _symptom(row: dict[str, Any]) -> Symptom:
    entity = row["entity"]
    given: dict[str, Any] = {
        **row,
        "entity": Entity(
            cast("EntityType", entity["type"]),
            entity["id"],
            entity["host"],
            _ranks(entity["ranks"]),
        ),
        "ranks": _ranks(row["ranks"]),
    }
    return Symptom(**given)


def _ranks(text: str) -> RankSet:
    return RankSet.parse(text) if text else RankSet()
