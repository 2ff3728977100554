"""Which lines say nothing though they hold a known text: most that do, in some logs.

A text is a few characters of what a line says, such as those that `Resuming from` shares with
`resume_from=None`. Where the form that has the text does not match, no other reader is asked about
the line. It is answered only of plain lines, with what stands before them, by patterns that ask not
where a line begins.
"""

import re
from collections.abc import Iterable, Sequence

from ...vocabulary.patterns import DeferredPattern
from ..needles import NeedleForm
from . import behind_bars, reloads

NeedlePattern = tuple[bytes, DeferredPattern]

_PLAIN = bytes([*b"\t", *range(0x20, 0x7F)])
_COLOUR = re.compile(rb"\[\d{1,3}(?:;\d{1,3}){0,8}m")
_BESIDE = (b"repeated", b"**", b"`")
"""What is taken out of a line, or from around it, before it is read."""
_ENVELOPES = b'{"', b"{ "
_VALUES = (
    b"loss", b"grad", b"gnorm", b"nll", b"xent", b"cost", b"perplexity", b"entropy", b"elbo",
    b"bce", b"mse", b"objective",
)  # fmt: skip
_CROSS_ENTROPY = re.compile(rb"(?<![A-Za-z])[Cc][Ee](?![A-Za-z])|(?<=[a-z])C[Ee](?![a-z])")
"""What a line with values of training has, in whatever form, in small letters but for this."""
_TOKEN = re.compile(
    r"(?P<placed>\(\?<[=!](?:\\.|\[(?:\\.|[^\]\\])+\]|[^()\\\[])*\)|\^|\\A)"
    r"|\\.|\[(?:\\.|[^\]\\])+\]|(?P<opens>\((?:\?!)?)|(?P<closes>\))|[^\\(]",
    re.DOTALL,
)
"""A part of a pattern; `placed`: it asks where a line begins, or what stands before."""


class SilentLines:
    """What tells them, made once for a set of forms.

    always: needles of which each makes a line worth reading; forms: those of which a line must
    match the pattern too. A text that is searched for a needle is a part of it.
    """

    def __init__(self, always: Sequence[str], forms: Sequence[NeedleForm]) -> None:
        self._always = [needle.encode() for needle in always]
        self._forms = [(form.needle.encode(), form) for form in forms]
        self._asked: dict[bytes, list[NeedlePattern] | None] = {}
        """By text, once it was found, the forms that it may stand for; None: reason enough."""

    def has(self, line: bytes, texts: Iterable[bytes]) -> bool:
        """Return whether a line in which these texts stand, and no others, says nothing."""
        asked: list[NeedlePattern] = []
        for text in texts:
            if text not in self._asked:
                self._asked[text] = self._of(text)
            forms = self._asked[text]
            if forms is None:
                return False
            asked += forms
        if line.translate(None, _PLAIN) or line.startswith(_ENVELOPES) or _COLOUR.search(line):
            return False
        lowered = line.lower()
        if any(map(line.__contains__, _BESIDE)) or any(map(lowered.__contains__, _VALUES)):
            return False
        told = line.decode("ascii").strip()
        if any(needle in line and pattern.search(told) for needle, pattern in asked):
            return False
        return not (
            _CROSS_ENTROPY.search(line)
            or reloads.may_tell(told)
            or len(behind_bars.parted(line)) > 1
        )

    def _of(self, text: bytes) -> list[NeedlePattern] | None:
        if any(text in needle for needle in self._always):
            return None
        found: list[NeedlePattern] = []
        for needle, form in self._forms:
            if text in needle:
                pattern = _anywhere(form.pattern.pattern)
                if pattern is None:
                    return None
                found.append((needle, DeferredPattern(pattern)))
        return found


def _anywhere(pattern: str) -> str | None:
    """Return a pattern that finds at least as much wherever a line begins, None if that is hard."""
    kept: list[str] = []
    opened: list[str] = []
    for token in _TOKEN.finditer(pattern):
        if token["placed"]:
            if "(?!" in opened:
                return None  # without it less would be found
            continue
        if token["opens"]:
            opened.append(token["opens"])
        elif token["closes"]:
            opened.pop()
        kept.append(token[0])
    return "".join(kept)
