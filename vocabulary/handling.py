"""What people did about an incident, as its document shows it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from .faults import ONE_OF_ALL
from .shapes import Shape, Time


@dataclass(frozen=True, slots=True)
class Handled(Shape):
    """That a person acknowledged or resolved an incident."""

    at: Time
    by: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Feedback(Shape):
    """What a person said about the first cause; `fault` and `entity` are what it really was."""

    at: Time
    by: str
    verdict: Literal["correct", "wrong", "unsure"]
    fault: Annotated[str, ONE_OF_ALL] | None = None
    entity: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Handling(Shape):
    """What people did about an incident."""

    acknowledged: Handled | None = None
    assignee: str | None = None
    resolved: Handled | None = None
    feedback: tuple[Feedback, ...] = ()
