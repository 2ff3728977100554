"""What was seen of a job and is no incident.

It has no effect on the job, no horizon, and asks nobody for an action: it accuses nobody, has no id
and is counted nowhere. It is evidence for what comes later.
"""

from dataclasses import dataclass

from .entities import Entity
from .ids import Job
from .shapes import DocumentShape, MaybeFigure, OptionalText, Time


@dataclass(frozen=True, slots=True)
class JobObservation(DocumentShape):
    """A finding that is no incident: `at` is when it began, `magnitude` is in its kind's terms.

    `until` is when it was last found, null while it lasts.
    """

    at: Time
    job: Job
    kind: str
    entity: Entity
    text: str
    magnitude: MaybeFigure
    until: Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationsDocument(DocumentShape):
    """A page of observations, the newest begin first."""

    items: list[JobObservation]
    next_cursor: OptionalText = None
