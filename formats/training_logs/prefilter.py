"""Where in a block of a log a line stands that may report something: two searches, no line by line.

A pattern of many texts is tried wherever one of their first characters stands. Capitals are rare in
logs, so texts are searched from their first capital on, all at once; texts without one are searched
one by one, which costs half a millisecond a megabyte each and must stay few.
"""

import re
from collections.abc import Iterable
from functools import cached_property

_CAPITAL = re.compile(r"[A-Z].{2,}", re.DOTALL)
_LONGEST = 24
"""Characters of a text that are searched; more of them distinguish no better."""


class TextPrefilter:
    """The search for a set of texts, made once."""

    def __init__(self, texts: Iterable[str]) -> None:
        capital: set[str] = set()
        plain: set[str] = set()
        for text in texts:
            found = _CAPITAL.search(text)
            (capital if found else plain).add((found[0] if found else text)[:_LONGEST])
        every = _shortest(plain)
        self._plain = [one.encode() for one in every]
        parts = [one for one in _shortest(capital) if not any(two in one for two in every)]
        self._capital = [one.encode() for one in sorted(parts)]
        self.texts = (*self._plain, *self._capital)
        """What is searched: a line that has none of these has none of the texts."""

    @cached_property
    def _pattern(self) -> re.Pattern[bytes] | None:
        """Made by the first search: who has searched for the texts himself needs none."""
        texts = self._capital
        return re.compile(b"|".join(map(re.escape, texts))) if texts else None

    def find(self, data: bytes) -> list[int]:
        """Return places inside all lines that have one of the texts, ascending; one may repeat."""
        places: list[int] = []
        if self._pattern is not None:
            places = [found.start() for found in self._pattern.finditer(data)]
        for text in self._plain:
            place = data.find(text)
            while place >= 0:
                places.append(place)
                place = data.find(text, ending(data, place))
        places.sort()
        return places


def ending(data: bytes, start: int) -> int:
    """Return where the line that `start` is in ends: at a line feed or a carriage return."""
    feed = data.find(b"\n", start)
    if feed < 0:
        feed = len(data)
    back = data.find(b"\r", start, feed)
    return feed if back < 0 else back


def _shortest(texts: set[str]) -> list[str]:
    """Return texts of which each of these holds one."""
    kept: list[str] = []
    for text in sorted(texts, key=lambda one: (len(one), one)):
        if not any(other in text for other in kept):
            kept.append(text)
    return kept
