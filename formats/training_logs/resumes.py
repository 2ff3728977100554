"""Lines by which a job says that it goes on from a checkpoint: what is before them is of before."""

from dataclasses import dataclass
from functools import cache

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Event, Scalar
from .. import needles
from . import cleaning

EVENT = "training.resumed"


@dataclass(frozen=True, slots=True)
class ResumeForm:
    """One way to say it, and a line that does."""

    name: str
    needle: str
    pattern: DeferredPattern
    example: str


@cache
def forms() -> tuple[ResumeForm, ...]:
    """Return all forms of resumes.toml."""
    return tuple(
        tables.packaged(
            ResumeForm, __package__ or "", "resumes.toml", "resume", beside="version source"
        )
    )


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    if next(needles.matches(forms(), text), None) is None:
        return []
    pairs: dict[str, Scalar] = {"text": cleaning.shown(text)}
    return [Event(EVENT, at, pairs | ({} if rank is None else {"rank": rank}))]
