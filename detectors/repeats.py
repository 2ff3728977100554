"""Steps at which a run went non-finite, over the attempts of a job.

A batch that is bad stays bad: after a restart from the checkpoint the data come in the same order,
and the same step goes non-finite again, on whichever rank reads them by then. Chance and hardware
have no such memory of a step.
"""

from collections import deque

KEPT = 16
"""Occurrences of one job that are kept, the newest."""

SAME_SECONDS = 5.0
"""Times of one occurrence may differ by so much and two steps: an event comes before its step."""


class RepeatedSteps:
    """Where values went non-finite first, as (attempt, step, time in seconds since the epoch)."""

    def __init__(self) -> None:
        self._held: deque[tuple[int, int, float]] = deque(maxlen=KEPT)

    def note(self, attempt: int, step: int, at: float, *, step_seconds: float) -> int:
        """Keep an occurrence; return how many others of the same step there were before it."""
        near = SAME_SECONDS + 2 * step_seconds
        of_step = [one for one in self._held if one[1] == step]
        if not any(one[0] == attempt and abs(one[2] - at) <= near for one in of_step):
            self._held.append((attempt, step, at))
        return sum(one[0] < attempt or one[2] < at - near for one in of_step)
