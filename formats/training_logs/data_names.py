"""Lines by which a job names its data: with other data a loss has another level."""

from dataclasses import dataclass
from functools import cache

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Event, Scalar
from .. import needles
from . import cleaning

EVENT = "training.data_named"


@dataclass(frozen=True, slots=True)
class DataForm:
    """One way to say it, and a line that does."""

    name: str
    needle: str
    pattern: DeferredPattern
    example: str


@cache
def forms() -> tuple[DataForm, ...]:
    """Return all forms of data_names.toml."""
    return tuple(
        tables.packaged(
            DataForm, __package__ or "", "data_names.toml", "data", beside="version source"
        )
    )


def read(text: str, at: float, rank: int | None) -> list[Event]:
    """Return the event of a line, none of another line."""
    named = next(needles.matches(forms(), text), None)
    if named is None:
        return []
    pairs: dict[str, Scalar] = {"text": cleaning.shown(named[1]["data"])}
    return [Event(EVENT, at, pairs | ({} if rank is None else {"rank": rank}))]
