"""Incidents in lists, the causes of a time range, and the share of each fault."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ..entities import Entity
from ..incidents import Incident, RootCause, TimelineMoment
from ..shapes import DocumentShape, FieldPresence, OptionalText


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentsDocument(DocumentShape):
    """A page of incidents, the newest onset first."""

    items: list[Incident]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineDocument(DocumentShape):
    """What happened in an incident, in order, by the machine and by people."""

    items: list[TimelineMoment]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRangeDocument(DocumentShape):
    """From when to when an answer holds: what was asked for, as far as it is held."""

    from_: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefIncident(DocumentShape):
    """An incident in a few fields."""

    id: str
    fault: str
    entity: Entity | None
    severity: str
    opened_at: str
    resolved_at: str | None
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeRootCause(RootCause):
    """The ranked causes of a time range.

    `source`: read from the windows of the last minutes, or from the journal, read again. `incident`
    is then the document of the worst incident that overlaps the range, and `others` are the rest.
    """

    source: Literal["windows", "journal"]
    range: TimeRangeDocument
    incident: Incident | None
    others: list[BriefIncident]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorDocument(DocumentShape):
    """One fault's share of incidents (0 to 1): the catalogue's and the learnt one.

    `confirmed`: how many incidents people confirmed to have had this fault.
    """

    fault: str
    catalogue: float
    learnt: float
    confirmed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorsDocument(DocumentShape):
    """Every fault of the catalogue, by name.

    `incidents`: how many were confirmed of any fault. `strength`: how many incidents the
    catalogue's share is worth.
    """

    items: list[PriorDocument]
    next_cursor: Annotated[None, FieldPresence.OPTIONAL] = None
    incidents: int
    strength: float
