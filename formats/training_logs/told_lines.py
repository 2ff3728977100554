"""Lines that say one thing in many ways: the forms of a table, and the event of a line."""

from dataclasses import dataclass

from ...vocabulary import tables
from ...vocabulary.patterns import DeferredPattern
from ...vocabulary.samples import Event, Scalar
from . import cleaning


@dataclass(frozen=True, slots=True)
class ToldForm:
    """One way to say it, and a line that does."""

    name: str
    needle: str
    pattern: DeferredPattern
    example: str


def packaged(file: str, rows: str) -> tuple[ToldForm, ...]:
    """Return all forms of a file of this package, a row each of the table `rows`."""
    return tuple(tables.packaged(ToldForm, __package__ or "", file, rows, beside="version source"))


def event(name: str, text: str, at: float, rank: int | None, **more: Scalar) -> Event:
    """Return the event that such a line is, with what it says."""
    pairs: dict[str, Scalar] = {"text": cleaning.shown(text), **more}
    return Event(name, at, pairs | ({} if rank is None else {"rank": rank}))
