"""Patterns by their alternatives, each searched for only in texts that have the words it requires.

The interpreter tries each alternative of a pattern at each letter, which takes milliseconds of a
long line; to see that it lacks some words takes microseconds. What is required is read from the
pattern, so that nobody has to write it a second time.
"""

import importlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

_SHORTEST = 3
"""Letters of a word that is worth looking for: a shorter one stands in most lines."""
_PARSER = importlib.import_module("re._parser")
"""The standard library's own, which has no types."""
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
"""What tells where the alternatives of a pattern end: escapes and sets may hold brackets."""

_Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class _PatternAlternative:
    """One of them, and the words (in small letters) of which an ASCII text that it matches has one.

    words: None where it requires none.
    """

    pattern: re.Pattern[str]
    words: _Words | None


@dataclass(frozen=True, slots=True)
class SplitPattern:
    """A pattern, and its alternatives."""

    pattern: re.Pattern[str]
    alternatives: tuple[_PatternAlternative, ...]

    @classmethod
    @lru_cache(1024)
    def of(cls, pattern: re.Pattern[str]) -> Self:
        """Return a pattern as it is searched for."""
        parts = [re.compile(one, pattern.flags) for one in _alternatives(pattern)]
        return cls(pattern, tuple(_PatternAlternative(one, required(one)) for one in parts))

    def is_in(self, text: str) -> bool:
        """Tell whether the pattern occurs in a text."""
        if not text.isascii():  # elsewhere more letters count as alike than by `lower`
            return self.pattern.search(text) is not None
        small = text.lower()
        return any(
            (one.words is None or any(word in small for word in one.words))
            and one.pattern.search(text) is not None
            for one in self.alternatives
        )


def required(pattern: re.Pattern[str]) -> _Words | None:
    """Return small-letter words of which an ASCII text that matches has one, None: none has to."""
    return _required(_PARSER.parse(pattern.pattern, pattern.flags))


def _alternatives(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the alternatives of a pattern; all of it where they are not independent."""
    text, depth, begin = pattern.pattern, 0, 0
    if not (pattern.groups or pattern.flags & re.VERBOSE):
        for found in _PARTS.finditer(text):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if found[0] == "|" and not depth:
                yield text[begin : found.start()]
                begin = found.end()
    yield text[begin:]


def _required(parts: Iterable[tuple[Any, Any]]) -> _Words | None:
    """Return what one of a sequence of parts requires: that of which the shortest is longest."""
    best: _Words | None = None
    run = ""
    for kind, of in parts:
        if str(kind) == "LITERAL" and of < 128:
            run += chr(of).lower()
        elif str(kind) != "AT":  # a place, such as the end of a word, is no letter
            best = _better(_better(best, _word(run)), _inner(str(kind), of))
            run = ""
    return _better(best, _word(run))


def _inner(kind: str, of: Any) -> _Words | None:
    """Return what one part requires that holds others."""
    match kind:
        case "SUBPATTERN":
            return _required(of[-1])
        case "ATOMIC_GROUP":
            return _required(of)
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            return _required(of[2]) if of[0] else None
        case "BRANCH":
            found = [_required(one) for one in of[1]]
            return None if None in found else _Words().union(*(one for one in found if one))
    return None


def _word(run: str) -> _Words | None:
    return _Words((run,)) if len(run) >= _SHORTEST else None


def _better(one: _Words | None, other: _Words | None) -> _Words | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=lambda words: min(map(len, words)))
