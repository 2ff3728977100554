"""From bytes of a log to text that may be shown: prefixes read, terminal codes and markup gone.

A log is written by tenants. What passes here holds no control characters, no terminal codes, no
characters that turn the direction of text, no tags; and it is short.
"""

import re
from dataclasses import dataclass

from . import envelopes
from .prefixes import LinePrefixes, behind

LONGEST = 8192
"""Bytes of a line that are looked at."""

TEXT = 500
"""Characters of a line that are passed on: the longest message that is read further on (CUDA out of
memory, with what PyTorch holds) has about 430."""

_ANSI = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[@-Z\\-_])"
)
_INVISIBLE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
_TAG = re.compile(r"<(?=[A-Za-z/!?])")

_STRAY = re.compile(rb"\[\d{1,3}(?:;\d{1,3}){0,8}m")
"""A colour of which a web page took the first character."""

_MARKS = ("**", "`")
_MARKED = re.compile(r"(\*\*|`{1,3})([^*` ](?:[^*`]*[^*` ])?)\1")
"""A line that somebody set in bold or as code where he asked about it."""

_ANY = LinePrefixes()
"""Of a log of which nothing is known."""


@dataclass(frozen=True, slots=True)
class CleanedLine:
    """A line without its prefixes.

    `rank` is the global one that a prefix names, `local` the local one (torchrun's prefix has that
    only); `stamp` the time and `host` the machine that a launcher or a runtime wrote before it.
    """

    text: str
    rank: int | None = None
    local: int | None = None
    stamp: str = ""
    host: str = ""


def clean(line: bytes, prefixes: LinePrefixes = _ANY) -> CleanedLine:
    """Return a line as text, without what launchers and runtimes wrote around it."""
    if b"\x1b" in line:
        line = _ANSI.sub(b"", line)
    if b"m" in line and _STRAY.search(line):
        line = _STRAY.sub(b"", line)
    text = line.decode("utf-8", "replace")
    stamp = host = ""
    if text.startswith(('{"', "{ ")) and (inner := envelopes.opened(text.strip())):
        text, stamp, host = inner
        text = _ANSI.sub(b"", text.encode("utf-8", "replace")).decode("utf-8", "replace")
    text = _INVISIBLE.sub("", text) if not text.isascii() or not text.isprintable() else text
    said = prefixes.read(text)
    text = text[said.start :].strip()
    if text.startswith(_MARKS) and (marked := _MARKED.fullmatch(text)):
        text = marked[2]
    if text.endswith((")", "]", "/")) and "repeated" in text:
        text = behind().sub("", text)
    return CleanedLine(text, said.rank, said.local, said.stamp or stamp, said.host or host)


def shown_lines(text: str) -> str:
    """Return lines as they may be passed on, each as `shown` does."""
    return "\n".join(shown(line) for line in text.split("\n"))


def shown(text: str) -> str:
    """Return a text as it may be passed on: short, and without anything that reads as a tag."""
    return _TAG.sub("\u2039", text[:TEXT].replace("\t", " "))
