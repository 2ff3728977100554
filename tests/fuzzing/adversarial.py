"""Lines on which a regular expression has most to try: repeats of what its own parts match."""

import importlib
import re
from collections.abc import Iterator
from typing import Any

# The only reader of patterns that there is.
codes: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_LONG = 32
"""A part that may stand so often is one that can be made long."""
_TRIED = " a0A.-_/:,=|\t[]()\"'x#<{}%?@!;+*~&^$\\z1"
_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def pumps(pattern: str, flags: int) -> Iterator[tuple[str, str]]:
    """Yield what lines may begin with, and what follows over and over, for the pattern to match."""
    yield from dict.fromkeys(_pumps(parser.parse(pattern, flags)))


def line(prefix: str, pump: str, length: int) -> str:
    """Return a line of about so many characters, whose end the pattern does not expect."""
    return prefix + pump * max(1, (length - len(prefix)) // len(pump)) + "\x00"


def _pumps(tree: Any) -> Iterator[tuple[str, str]]:
    whole = _sample(tree)
    if whole:
        yield "", whole
        yield "", whole[:-1] or whole
    for prefix, pump in _repeated(tree, ""):
        if pump:
            yield prefix, pump
            yield "", pump
            if prefix:
                yield "", prefix + pump
                yield "", prefix


def _repeated(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield each part that can be long: what leads to it, and one turn of it."""
    for code, held in tree:
        if code in _REPEATS:
            _, most, inner = held
            yield from _repeated(inner, prefix)
            if most >= _LONG:
                yield prefix, _sample(inner)
                yield from ((prefix, char) for char in _TRIED[:20] if _matches(inner, char))
        elif code in (codes.SUBPATTERN, codes.ASSERT, codes.ASSERT_NOT):
            yield from _repeated(held[-1], prefix)
        elif code is codes.ATOMIC_GROUP:
            yield from _repeated(held, prefix)
        elif code is codes.BRANCH:
            for inner in held[1]:
                yield from _repeated(inner, prefix)
        prefix += _sample([(code, held)])


def _matches(inner: Any, char: str) -> bool:
    if len(inner) != 1:
        return False
    code, held = inner[0]
    if code is codes.NOT_LITERAL:
        return bool(ord(char) != held)
    return code is codes.ANY or (code is codes.IN and _in(held, char))


def _in(members: Any, char: str) -> bool:
    inside = negated = False
    for code, held in members:
        if code is codes.NEGATE:
            negated = True
        elif code is codes.LITERAL:
            inside |= ord(char) == held
        elif code is codes.RANGE:
            inside |= held[0] <= ord(char) <= held[1]
        elif code is codes.CATEGORY:
            inside |= re.match(_CATEGORIES[held], char) is not None
    return inside != negated


def _sample(tree: Any) -> str:
    """Return a short text that the parts match one after the other; looking around is left out."""
    return "".join(_one(code, held) for code, held in tree)


def _one(code: Any, held: Any) -> str:
    if code in _REPEATS:
        return _sample(held[2]) * int(max(held[0], min(1, held[1])))
    if code is codes.LITERAL:
        return chr(held)
    if code is codes.IN:
        return next((char for char in _TRIED if _in(held, char)), _first(held))
    if code is codes.SUBPATTERN:
        return _sample(held[-1])
    if code is codes.ATOMIC_GROUP:
        return _sample(held)
    if code is codes.BRANCH:
        return _sample(held[1][0])
    if code is codes.NOT_LITERAL:
        return "a" if held != ord("a") else "b"
    return "a" if code is codes.ANY else ""


def _first(members: Any) -> str:
    return next(
        (
            chr(held[0] if code is codes.RANGE else held)
            for code, held in members
            if code in (codes.RANGE, codes.LITERAL)
        ),
        "",
    )
