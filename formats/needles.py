"""Forms of lines that are data: each has a text that its lines hold, and a pattern of the rest."""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

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
