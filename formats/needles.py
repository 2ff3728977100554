"""Forms of lines that are data: each has a text that its lines hold, and a pattern of the rest."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from ..vocabulary.patterns import DeferredPattern


class NeedleForm(Protocol):
    """A form of a line. Most lines lack the needle, which is found faster than the pattern."""

    @property
    def needle(self) -> str:
        """Return a text that every such line has."""
        ...

    @property
    def pattern(self) -> DeferredPattern:
        """Return what is searched in a line that has it."""
        ...


AnyForm = TypeVar("AnyForm", bound=NeedleForm)


def matches(forms: Iterable[AnyForm], text: str) -> Iterator[tuple[AnyForm, re.Match[str]]]:
    """Yield the forms that a line has, in their order, each with what its pattern found."""
    for form in forms:
        if form.needle in text and (found := form.pattern.search(text)):
            yield form, found


_NUMBER = re.compile(r"[0-9]+")
_MOST_SHAPES, _LONGEST = 512, 2000


@lru_cache(maxsize=8)
def shape(text: str) -> str:
    """Return a text with one digit for each number: lines of one form in a log are alike.

    >>> shape("step 17 of 90000")
    'step 0 of 0'
    """
    return _NUMBER.sub("0", text)


AnyRow = TypeVar("AnyRow")


class ShapedRows(Generic[AnyRow]):
    """Rows of which each has a text that its lines hold, found once for all lines that are alike.

    rows: each with its text, and whether that is in small letters and stands for all others.
    """

    def __init__(self, rows: Iterable[tuple[str, bool, AnyRow]]) -> None:
        self._rows = list(rows)
        self._known: dict[str, list[tuple[str, bool, AnyRow]]] = {}

    def of(self, text: str) -> Iterator[AnyRow]:
        """Yield the rows whose texts stand in a line, in their order."""
        lowered = ""
        for needle, folded, row in self._candidates(text):
            if folded and not lowered:
                lowered = text.lower()
            if needle in (lowered if folded else text):
                yield row

    def _candidates(self, text: str) -> list[tuple[str, bool, AnyRow]]:
        """Return the rows that a line may be of, whatever its numbers are."""
        if len(text) > _LONGEST:
            return self._rows
        key = shape(text)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            lowered = key.lower()
            # A needle with a number may stand in any line.
            found = self._known[key] = [
                (needle, folded, row)
                for needle, folded, row in self._rows
                if needle in (lowered if folded else key) or _NUMBER.search(needle)
            ]
        return found
