"""Lines by which a job says that it saves a checkpoint, and that it has saved it."""

from functools import cache

from ...vocabulary.samples import Event
from .. import needles
from . import told_lines
from .told_lines import ToldForm

EVENT = "training.save"
_FILE = "saves.toml"


@cache
def begins() -> tuple[ToldForm, ...]:
    """Return all forms of saves.toml by which a save begins."""
    return told_lines.packaged(_FILE, "begin", beside="end")


@cache
def ends() -> tuple[ToldForm, ...]:
    """Return all forms of saves.toml by which one is over."""
    return told_lines.packaged(_FILE, "end", beside="begin")


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    for state, forms in (("begins", begins()), ("ends", ends())):
        if any(needles.matches(forms, text)):
            return [told_lines.event(EVENT, text, at, rank, state=state)]
    return []
