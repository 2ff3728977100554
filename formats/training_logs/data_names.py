"""Lines by which a job names its data: with other data a loss has another level."""

from functools import cache

from ...vocabulary.samples import Event
from .. import needles
from . import told_lines
from .told_lines import ToldForm

EVENT = "training.data_named"


@cache
def forms() -> tuple[ToldForm, ...]:
    """Return all forms of data_names.toml."""
    return told_lines.packaged("data_names.toml", "data")


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    named = next(needles.matches(forms(), text), None)
    return [] if named is None else [told_lines.event(EVENT, named[1]["data"], at, rank)]
