"""Lines by which a job says that it saves a checkpoint, and that it has saved it."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...vocabulary import tables
from ...vocabulary.samples import Event
from .. import needles
from . import told_lines
from .told_lines import ToldForm

EVENT = "training.save"


@dataclass(frozen=True, slots=True)
class SaveForm(ToldForm):
    """One way to say that a save begins, or that it is over."""

    state: Literal["begins", "ends"]


@cache
def forms() -> tuple[SaveForm, ...]:
    """Return all forms of saves.toml; the first that a line has counts."""
    rows = tables.packaged(
        SaveForm, __package__ or "", "saves.toml", "save", beside="version source", unique=False
    )
    return tuple(rows)


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    said = next(needles.matches(forms(), text), None)
    return [] if said is None else [told_lines.event(EVENT, text, at, rank, state=said[0].state)]
