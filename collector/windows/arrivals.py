"""When steps arrive, which may be long after they ended.

A log that is written in blocks (Python's standard output into a file: 8 KiB) and TensorBoard's
files (every two minutes) hold steps back: many arrive at once, and none in between.
"""

import math
from collections import deque
from dataclasses import dataclass

TOGETHER_SECONDS = 2.5
"""What arrives within this time is one block, read in several turns."""

STREAM_SECONDS = 10.0
"""What goes on arriving for so long is no block."""

SEVERAL, KEPT = 3, 3
"""Steps that arrive at once, and so many of the newest blocks that the longest wait is taken of."""


@dataclass(slots=True)
class _ArrivalBlock:
    """Steps that arrived together: when the first and the last did.

    waited: how long none had before, s; None: since the attempt began.
    """

    began: float
    ended: float
    waited: float | None
    steps: int


class StepArrivals:
    """The newest blocks in which the steps of one attempt arrived; times as they were received."""

    def __init__(self) -> None:
        self._blocks: deque[_ArrivalBlock] = deque(maxlen=KEPT)

    def take(self, steps: int, now: float) -> None:
        """Note that so many steps arrived that nobody had reported before."""
        if steps <= 0:
            return
        newest = self._blocks[-1] if self._blocks else None
        if newest is None or now - newest.ended > TOGETHER_SECONDS:
            waited = now - newest.ended if newest is not None else None
            self._blocks.append(_ArrivalBlock(now, now, waited, steps))
            return
        newest.ended, newest.steps = now, newest.steps + steps
        if now - newest.began > STREAM_SECONDS:
            self._blocks.clear()
            self._blocks.append(_ArrivalBlock(newest.began, now, 0.0, newest.steps))

    def interval(self, since: float) -> float:
        """Return how long steps are held back, s; 0 where each arrives soon after it ended.

        since: when the attempt began: until a second block has arrived no more is known.
        """
        longest = 0.0
        for block in self._blocks:
            waited = block.began - since if block.waited is None else block.waited
            if block.steps >= SEVERAL and math.isfinite(waited):
                longest = max(longest, waited)
        return longest
