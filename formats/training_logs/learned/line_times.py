"""The time that a line of training names, where its format knows none: of itself, or of all so far.

`time 390.2s` stands for a step, or an epoch, in one loop, and for the whole training in another.
The first lines tell: what grows from each to the next is all time so far, and is not read.
"""

import itertools
from dataclasses import dataclass, field

from . import fields, names

ENOUGH = 4
"""Lines that tell which of the two it is; of them no time is reported."""

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
            self._own = any(after <= before for before, after in itertools.pairwise(self._first))
        return named[0] if self._own else None
