"""Lines by which a job says that it goes on from a checkpoint: what is before them is of before."""

from functools import cache

from ...vocabulary.samples import Event
from .. import needles
from . import told_lines
from .told_lines import ToldForm

EVENT = "training.resumed"


@cache
def forms() -> tuple[ToldForm, ...]:
    """Return all forms of resumes.toml."""
    return told_lines.packaged("resumes.toml", "resume")


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    said = next(needles.matches(forms(), text), None)
    return [] if said is None else [told_lines.event(EVENT, text, at, rank)]
