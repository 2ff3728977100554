"""From bytes of a log to text that may be shown: prefixes read, terminal codes and markup gone.

A log is written by tenants. What passes here holds no control characters, no terminal codes, no
characters that turn the direction of text, no tags; and it is short.
"""

import re
from dataclasses import dataclass

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

_PREFIXES = re.compile(
    r"\s*(?:"
    r"\[rank(?P<rank>\d{1,7})\]:"
    r"|\[(?:default|trainer|worker)_?(?P<local>\d{1,4})\]:"
    r"|\[\d{1,4},(?P<task>\d{1,7})\]<std(?:out|err)>:"
    r"|\(\w{1,64} pid=\d{1,9}(?:, ip=[\d.a-f:]{1,45})?\)"
    r"|(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)) std(?:out|err) [FP]"
    r") ?"
)


@dataclass(frozen=True, slots=True)
class CleanedLine:
    """A line without its prefixes.

    `rank` is the global one that a prefix names, `local` the local one (torchrun's prefix has that
    only); `stamp` the time that a container runtime wrote before the line.
    """

    text: str
    rank: int | None = None
    local: int | None = None
    stamp: str = ""


def clean(line: bytes) -> CleanedLine:
    """Return a line as text, without what launchers and runtimes wrote before it."""
    if b"\x1b" in line:
        line = _ANSI.sub(b"", line)
    text = line.decode("utf-8", "replace")
    text = _INVISIBLE.sub("", text) if not text.isascii() or not text.isprintable() else text
    rank = local = None
    stamp = ""
    start = 0
    while found := _PREFIXES.match(text, start):
        if found["rank"] is not None or found["task"] is not None:
            rank = int(found["rank"] or found["task"])
        elif found["local"] is not None:
            local = int(found["local"])
        stamp = stamp or found["stamp"] or ""
        start = found.end()
    return CleanedLine(text[start:].strip(), rank, local, stamp)


def shown_lines(text: str) -> str:
    """Return lines as they may be passed on, each as `shown` does."""
    return "\n".join(shown(line) for line in text.split("\n"))


def shown(text: str) -> str:
    """Return a text as it may be passed on: short, and without anything that reads as a tag."""
    return _TAG.sub("\u2039", text[:TEXT].replace("\t", " "))
