"""What people did about an incident, as its document shows it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from .faults import ONE_OF_ALL
from .shapes import DocumentShape, Time


@dataclass(frozen=True, slots=True)
class HandlingStep(DocumentShape):
    """That a person acknowledged or resolved an incident."""

    at: Time
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class CauseFeedback(DocumentShape):
    """What a person said about the first cause; `fault` and `entity` are what it really was."""

    at: Time
    by: str
    verdict: Literal["correct", "wrong", "unsure"]
    fault: Annotated[str, ONE_OF_ALL] | None = None
    entity: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class IncidentHandling(DocumentShape):
    """What people did about an incident."""

    acknowledged: HandlingStep | None = None
    assignee: str | None = None
    resolved: HandlingStep | None = None
    feedback: tuple[CauseFeedback, ...] = ()
