"""Where in a block of a log known texts stand: those of several readers in one search.

A pattern of a hundred texts reads fifteen megabytes a second. The automaton of Aho and Corasick
takes one step a byte, however many texts there are.
"""

from collections.abc import Iterable, Sequence

from ahocorasick_rs import BytesAhoCorasick, Implementation

FoundText = tuple[int, bytes]
"""Where a text stands, and the text."""


class NeedleSearch:
    """The search for some groups of texts, made once. Raises ValueError for an empty text."""

    def __init__(self, groups: Sequence[Iterable[bytes]]) -> None:
        every: dict[bytes, list[int]] = {}
        for number, texts in enumerate(groups):
            for text in dict.fromkeys(texts):
                every.setdefault(text, []).append(number)
        self._texts = list(every.items())
        """Each text with the groups that it is of."""
        self._count = len(groups)
        # As a table of all transitions: some megabytes for twice the speed of the sparser ones.
        self._automaton = BytesAhoCorasick(every, implementation=Implementation.DFA)

    def places(self, data: bytes) -> list[list[FoundText]]:
        """Return by group where its texts begin in a block, ascending."""
        found: list[list[FoundText]] = [[] for _ in range(self._count)]
        for number, start, _ in self._automaton.find_matches_as_indexes(data, overlapping=True):
            text, groups = self._texts[number]
            for group in groups:
                found[group].append((start, text))
        for places in found:
            places.sort()
        return found
