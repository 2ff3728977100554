"""A link that goes up and down: its first changes are told singly, the rest as one with a count."""

import math
from dataclasses import dataclass

SINGLY = 4
"""So many changes within a minute are told one by one: down, up, and once more."""
FOLD_SECONDS = 60.0
SETTLED_SECONDS = 5.0
"""A link that kept its state for so long while it was folded is told, if it is another one."""


@dataclass(slots=True)
class Flapping:
    """What was told of one link lately."""

    told_up: bool | None = None
    told_at: float = -math.inf
    singly: int = 0
    """Changes told one by one since the minute began."""
    began_at: float = -math.inf
    waiting: int = 0
    """Changes that were not told yet."""
    changed_at: float = -math.inf

    def take(self, *, up: bool, now: float, changes: int) -> int:
        """Take a reading and the changes since the one before; return how many to tell now.

        0: nothing. More than 1: one event for all of them, with the state that the link has now.
        A single change that the reading did not see (up before, up now) is told as such a pair.
        """
        if self.told_up is None:
            self.told_up = up == (changes % 2 == 0)
        if not 0 <= now - self.began_at < FOLD_SECONDS:
            self.began_at, self.singly = now, 0
        if changes:
            self.waiting += changes
            self.changed_at = now
        if not self.waiting:
            return 0
        if self.singly >= SINGLY and not self._due(up=up, now=now):
            return 0
        told, self.waiting = self.waiting, 0
        if told == 1 and up == self.told_up:
            told = 2
        self.singly += told
        self.told_up, self.told_at = up, now
        return told

    def _due(self, *, up: bool, now: float) -> bool:
        settled = now - self.changed_at >= SETTLED_SECONDS and up != self.told_up
        return settled or now - self.told_at >= FOLD_SECONDS
