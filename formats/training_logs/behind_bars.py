"""What stands behind a progress bar on its line: a log line that began where no line had ended.

A bar ends without an end of line, since it is drawn again. Whatever is written next, by the same
process or by another one, stands right behind it.
"""

import re

_RATE = rb"[\d.?]{1,12} {0,2}[A-Za-z]{1,12}/[A-Za-z]{1,12}"
_TQDM = re.compile(
    rb"\[[\d:]{4,12}(?:<[\d:?, a-z]{1,24})?, {1,4}" + _RATE + rb"(?:, [^\]\[]{0,1000})?\]"
)
"""The end of tqdm's bar: the time, the rate and what a program adds to them."""

_RICH, _HEAD = (
    "\u2501".encode(),
    re.compile(
        rb"\[\d{4}-\d\d-\d\d[ T]|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d|\[rank\d{1,7}\]:|"
        rb"Traceback \(most recent call last\)|(?<![A-Za-z])[IWEF]\d{4} \d\d:\d\d:\d\d"
    ),
)
"""The line of rich's bar, behind which its columns have any form, and how a log line begins."""

_OWN = re.compile(
    rb"[\s,|:;*-]{0,80}(?!(?:Killed|Terminated|Abort trap|Segmentation fault|Bus error): \d)"
    rb"(?:(?:[A-Za-z_](?!\w{0,30}(?:Error|Exception))[\w./]{0,30} ?){1,3}[:=] {0,4}"
    rb"[-+]?(?:\d(?![\d.]{0,12}[%\]])|nan|inf)|$)"
)
"""Nothing, or a name and its number: a program's own values of the step that the bar counts, and no
signal as the shell of macOS names it."""


def parted(line: bytes) -> list[bytes]:
    """Return the lines that one consists of: itself, or bars and what began behind each."""
    found: list[bytes] = []
    start = 0
    if b"/s" in line or b"s/it" in line or b"/it" in line:
        for end in (one.end() for one in _TQDM.finditer(line)):
            if _OWN.match(line, end) is None:
                found.append(line[start:end])
                start = end
    rest = line[start:]
    if _RICH in rest and (head := _HEAD.search(rest, rest.rfind(_RICH))):
        return [*found, rest[: head.start()], rest[head.start() :]]
    return [*found, rest]
