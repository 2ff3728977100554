"""A link that goes up and down: its first changes are reported singly, the rest with a count."""

import math
from dataclasses import dataclass

SINGLY = 4
"""So many changes within a minute are reported one by one: down, up, and once more."""
FOLD_SECONDS = 60.0
SETTLED_SECONDS = 5.0
"""A link that kept its state for so long while it was folded is reported, if it is another one."""


@dataclass(slots=True)
class LinkFlaps:
    """What was reported of one link lately."""

    reported_up: bool | None = None
    reported_at: float = -math.inf
    singly: int = 0
    """Changes reported one by one since the minute began."""
    began_at: float = -math.inf
    waiting: int = 0
    """Changes that were not reported yet."""
    changed_at: float = -math.inf

    def take(self, *, up: bool, now: float, changes: int) -> int:
        """Take a reading and the changes since the one before; return how many to report now.

        0: nothing. More than 1: one event for all of them, with the state that the link has now.
        A single change that the reading did not see (up before, up now) is reported as such a pair.
        """
        if self.reported_up is None:
            self.reported_up = up == (changes % 2 == 0)
        if not 0 <= now - self.began_at < FOLD_SECONDS:
            self.began_at, self.singly = now, 0
        if changes:
            self.waiting += changes
            self.changed_at = now
        if not self.waiting:
            return 0
        if self.singly >= SINGLY and not self._due(up=up, now=now):
            return 0
        count, self.waiting = self.waiting, 0
        if count == 1 and up == self.reported_up:
            count = 2
        self.singly += count
        self.reported_up, self.reported_at = up, now
        return count

    def _due(self, *, up: bool, now: float) -> bool:
        settled = now - self.changed_at >= SETTLED_SECONDS and up != self.reported_up
        return settled or now - self.reported_at >= FOLD_SECONDS
