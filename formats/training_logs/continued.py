"""Lines that say something only below another one: what stands above them completes them.

An exception of torch ends with the last warning of NCCL, without what NCCL prints before it.
Horovod lists the ranks that it waits for, a line each, with what each of them did not submit.
"""

import re

_ANY = re.compile(r"\S")
_OPENERS = {
    "Last error:": ("NCCL WARN ", 1, _ANY),
    "Missing ranks:": ("Missing rank ", 1 << 14, re.compile(r"\d{1,7}!?: \[")),
    "Stalled ranks:": ("Missing rank ", 1 << 14, re.compile(r"\d{1,7}!?: \[")),
}
"""By the line above: what the lines below it lack, how many may follow, and how they look."""

BEGINS = tuple(_OPENERS)


class ContinuedLines:
    """Follows one log; `whose` is the prefix of a line: those of others may stand between."""

    def __init__(self) -> None:
        self._whose: object = None
        self._above = ""
        self._left = 0

    @property
    def open(self) -> bool:
        """Return whether lines that follow may belong to one above."""
        return self._left > 0

    def read(self, whose: object, text: str) -> str:
        """Take a line; return it with what stands above, "" where it belongs to none."""
        text = text.strip()
        opener = next((one for one in BEGINS if text.endswith(one)), "")
        if opener:
            self._whose, self._above, self._left = whose, opener, _OPENERS[opener][1]
            return ""
        if not self._left or whose != self._whose or not text:
            return ""
        before, _, form = _OPENERS[self._above]
        if form.match(text) is None:
            self._left = 0
            return ""
        self._left -= 1
        return before + text
