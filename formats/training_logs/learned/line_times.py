"""The time that a line of training names, where its format knows none: of itself, or of all so far.

`time 390.2s` stands for a step, or an epoch, in one loop, and for the whole training, or all of the
epoch so far, in another. The first lines tell: what mostly grows is time so far, and is not read.
"""

import itertools
from dataclasses import dataclass, field

from . import fields, names

ENOUGH, RISES = 6, 3
"""Lines that tell which of the two it is, of which only the last one's time is reported; and how
often the time of a step may rise from each to the next: time so far does each time, but where an
epoch begins."""

_WORDS = ("ime", "took", "sec", "\u65f6")
"""One of them is in every label of a time."""


@dataclass(slots=True)
class LineTimes:
    """Learns it of one form of lines of one log."""

    _first: list[float] = field(default_factory=list[float])
    _own: bool | None = None

    def take(self, text: str) -> float | None:
        """Return the seconds that a line says it took, None where it says none of itself."""
        if self._own is False or not any(word in text for word in _WORDS):
            return None
        named = [one.seconds for one in fields.read(text) if names.of_step_time(one.label)]
        if len(named) != 1 or named[0] is None or not named[0] > 0:
            return None
        if self._own is None:
            self._first.append(named[0])
            if len(self._first) < ENOUGH:
                return None
            pairs = itertools.pairwise(self._first)
            self._own = sum(after > before for before, after in pairs) <= RISES
        return named[0] if self._own else None
