"""Values of a line by the names that stand before them, whatever stands between.

`loss: 2.3`, `loss=2.3`, `loss 2.3`, `"loss": "2.3"`, `'loss': np.float64(2.3)`, `step 10/100`.
"""

import re
from collections.abc import Iterable

from ...vocabulary.patterns import DeferredPattern

_VALUE = (
    r"""['"]?(?:\s{0,8}[:=]\s{0,8}|\s{1,8}(?=['"\[(]?[-+.]?(?:\d|nan|inf)))['"]?"""
    r"""(?:(?:[A-Za-z_]\w{0,20}\.)?[A-Za-z_]\w{0,20}\()?\[?\s{0,8}"""
    r"""(?P<value>[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=[\s,;|)\]}'"]|$)"""
    r"""|[^\s,;|()\[\]{}'"<>]+)"""
    r"""(?:(?:, {0,4}[\d.]{1,16}/s)? {0,4}\( {0,8}(?P<mean>\d{1,12}\.\d{1,12})s?[,)])?"""
)
"""A separator, and what wraps a number: quotes, a list, the name of its type; the mean of a window
behind it, in parentheses."""

MEAN = " (mean"
"""Behind a name: the mean that stands behind its value."""

_BEFORE = re.compile(r"([A-Za-z_][\w.]*) ?$")
_MAY_PRECEDE = frozenset({
    "info", "debug", "warning", "warn", "success", "train", "training", "trainer", "s", "ms", "sec",
    "gb", "gib", "mb", "mib", "k", "m", "it", "iter", "tokens",
})  # fmt: skip
"""Words before a bare word such as `loss`: with others it is another loss, of packets for one."""

_TEST = re.compile(
    r"(?i)(?<![a-z])(?:eval\w{0,16}|valid\w{0,16}|val|test\w{0,16}|dev)(?:[)\]]|[\s_/:|=.-]{1,4}(?:\w{1,24}[\s_/:=.-]{1,3})"
    r"{0,2}?(?:loss|step|epoch|batch|iter\w*|ppl|perplexity|acc\w*|data\w*|results?|metrics?)(?![a-z]))"
    r"|^\W{0,8}(?:eval|valid|test)"
)
_RANK = re.compile(
    r"(?i)(?<!local )(?<!dp )(?<!tp )(?<!pp )(?<![\w-])(?:global[ _])?rank[ :=]{0,2}(\d{1,7})(?!\d)"
)
_LAST = re.compile(r"loss|norm|entropy|perplexity|time$")
"""In names of what a line may end with."""
_HEAD = 200
_NUMBER = r"""['"]?\s{0,4}[:=]?\s{0,4}['"(\[]{0,2}[-+]?(?:\d|nan\b|inf)"""
_LOSS = re.compile(
    rf"(?i)(?<!packet )(?:loss|grad(?:ient)?[ _.]{{0,2}}norm|gnorm)(?:[ _/]?\w{{1,12}})?{_NUMBER}"
)
_COUNT = re.compile(
    rf"(?i)(?<![a-z])(?:step|iter|iteration|epoch|batch|update|lr|learning[ _]rate)s?{_NUMBER}"
)
_COUNTED = re.compile(r"(\d{1,12})(?:\.0+)?/\d{1,12}")


def pattern(names: Iterable[str]) -> DeferredPattern:
    """Return the pattern of any of these names and of a value behind it, long names first."""
    every = sorted({key(name) for name in names}, key=lambda one: (-len(one), one))
    listed = "|".join(re.escape(name).replace(r"\ ", r"[ _]") for name in every)
    return DeferredPattern(rf"(?i)(?<![_/.%-])(?P<name>{listed})(?![\w/]){_VALUE}")


def read(names: DeferredPattern, text: str) -> dict[str, str] | None:
    """Return what stands behind each name; None where a name stands twice: two lines in one.

    A number that ends the line may be cut: it is "", unless no more than digits behind a point can
    be missing.
    """
    found: dict[str, str] = {}
    glued: set[str] = set()
    for one in names.finditer(text):
        name = key(one["name"])
        if one.start() and text[one.start() - 1].isalnum():
            glued.add(name)  # behind a piece of another line, or a part of a word
            continue
        if name.isalpha() and _of_another(text[max(0, one.start() - 40) : one.start()]):
            continue
        if name in found:
            return None
        written = one["value"].rstrip(".:")
        counted = _COUNTED.fullmatch(written)
        cut = one.end("value") == len(text) and not _whole(name, written)
        found[name] = "" if cut else counted[1] if counted else written
        if one["mean"]:
            found[name + MEAN] = one["mean"]
    return None if glued & found.keys() else found


def _of_another(before: str) -> bool:
    """Tell whether the word before a bare word makes it another value."""
    word = _BEFORE.search(before)
    return word is not None and word[1].casefold() not in _MAY_PRECEDE


def key(name: str) -> str:
    """Return a name as it is compared."""
    return name.casefold().replace("_", " ")


def looks_like_values(text: str) -> bool:
    """Tell whether a line has a loss or a norm and a step or the like: values of training."""
    return bool(_LOSS.search(text) and _COUNT.search(text)) and not of_a_test(text)


def _whole(name: str, text: str) -> bool:
    """Tell whether a number at the end of a line lacks no more than digits behind its point."""
    return not text[-1:].isdigit() or ("." in text and _LAST.search(name) is not None)


def rank(text: str) -> str | None:
    """Return the global rank that a line names."""
    found = _RANK.search(text, 0, _HEAD)
    return found[1] if found else None


def of_a_test(text: str) -> bool:
    """Tell whether a line is about an evaluation: its loss is another one."""
    return _TEST.search(text) is not None
