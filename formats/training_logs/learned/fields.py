"""The numbers of a line with the words before them, whatever stands between: `[Loss] 2.5`."""

import re
from dataclasses import dataclass

from .. import numbers

_COUNTS = r"epochs?|ep?|iter(?:ation)?s?|it|steps?|batch|round"
_FIELD = re.compile(
    rf"(?i)(?:(?<![a-z])(?P<glued>{_COUNTS})_?|(?<![A-Za-z0-9_.]))"
    r"(?P<value>[-+]?1\.#(?:inf|ind|[qs]nan)0{0,9}|[-+]?(?:\d{1,3}(?:,\d{3}){1,4}(?![\d,])|\d{1,15}(?:\.\d{0,18})?|\.\d{1,18})(?:e[-+]?\d{1,3})?"
    r"|[-+]?(?:nan(?:\(ind\))?|inf(?:inity)?)(?:\.0?)?)"
    r"(?P<unit>ms|us|s|sec|secs|k|m|it|kit|%)?(?![A-Za-z0-9_]|\.\d)"
    r"(?:\s{0,4}/\s{0,4}(?P<of>\d{1,12})(?:\.\d+)?(?:k?it)?(?![\w.]))?"
)
_WRAP = " \t:='\"([{}])"
_PART = re.compile(
    r"[|\u2502,;()\[\]{}<>\t\"']|\s[-\u2013]{1,2}\s|[:=>]\s|\s{2,}|=|\w:(?=[A-Za-z])"
)
_BAR = re.compile(r"%\|[^|]{0,200}\|\s*$")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+|[\u4e00-\u9fff]+")
_UNIT = re.compile(r"\((?:s|secs?|seconds?|ms)\)(?=[\s:=]*$)")
"""Of the number, behind its name: `time(s): 307.7`."""
_CELLS = ("|", "\u2502")
_LONGEST_LABEL = 48
_MOST = 96

BAR, HEAD, PER_STEP = "bar", "head", "step time"
"""Labels of the count of a progress bar, of a bare number that a line begins with, and of a time
that a line gives as one of each step: `0.5 s/it`."""

_PER_STEP = re.compile(
    r" ?(?:ms|s|secs?|seconds?) ?(?:/|per) ?(?:it|iter|iteration|step|batch|update)\b"
)


@dataclass(frozen=True, slots=True)
class LineField:
    """A number: the words before it, itself, what it counts up to (None: nothing).

    `count`: it is a whole number, written as one. `seconds`: the number where its unit is of time,
    or none is written; `timed`: one is.
    """

    label: str
    value: float
    of: int | None = None
    count: bool = False
    seconds: float | None = None
    timed: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        return words(self.label)


def words(label: str) -> tuple[str, ...]:
    """Return the words of a label in small letters.

    >>> words("train/lossCE")
    ('train', 'loss', 'ce')
    """
    return tuple(_WORD.findall(_HUMP.sub("_", label).lower()))


def read(text: str) -> list[LineField]:
    """Return the numbers of a line.

    >>> [(one.label, one.value) for one in read("E0 iter[ 14/ 15] | [Loss] 902.61")]
    [('E', 0.0), ('iter', 14.0), ('Loss', 902.61)]
    """
    found: list[LineField] = []
    end = 0
    for one in _FIELD.finditer(text):
        gap = text[end : one.start()]
        end = one.end()
        if len(found) >= _MOST:
            break
        made = _field(one, gap, text)
        if made is not None:
            found.append(made)
    return found


def _field(one: re.Match[str], gap: str, text: str) -> LineField | None:
    number = numbers.number(one["value"])
    if number is None:
        return None
    unit = (one["unit"] or "").lower()
    whole = one["value"].replace(",", "").isdigit()
    if one["glued"]:
        label = one["glued"]
    elif unit in ("it", "kit") or _BAR.search(gap):
        label = BAR
    elif _PER_STEP.match(text, one.end("value")):
        label = PER_STEP
    else:
        label = _label(gap, cells=text.startswith(_CELLS))
        if not label and whole and not text[: one.start()].strip(" ["):
            label = HEAD
    times = 1000.0 if unit in ("k", "kit") else 1.0
    seconds = numbers.factor("s", unit.removesuffix("ec").removesuffix("ecs"))
    of = one["of"]
    return LineField(
        label,
        number * times,
        int(of) if of else None,
        whole or times > 1,
        None if seconds is None or of else number * seconds,
        timed=bool(unit) and seconds is not None and not of,
    )


def _label(gap: str, *, cells: bool) -> str:
    """Return the words right before a number, "" where anything else stands there."""
    bare = _UNIT.sub("", gap).rstrip(_WRAP)
    if cells and bare.endswith(_CELLS):
        bare = bare[:-1].rstrip()
    if not bare or bare[-1] in "|,;>":
        return ""
    parts = list(_PART.finditer(bare))
    label = bare[parts[-1].end() if parts else 0 :].strip(" \t-*#~._")
    return label[-_LONGEST_LABEL:]
