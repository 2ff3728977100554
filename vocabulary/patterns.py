"""Regular expressions that are compiled when a text is first searched."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class DeferredPattern:
    """A regular expression of a table: of hundreds a log needs a few, each after its needle.

    Its methods are those of re.Pattern; the first call raises re.error where it is none.
    """

    pattern: str

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """Return it as `re` has it. Raises re.error."""
        return re.compile(self.pattern)

    def search(self, text: str) -> re.Match[str] | None:
        return self.compiled.search(text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self.compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text)
