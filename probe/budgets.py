"""How often a check that costs something may run: a share of the wall time, whatever it costs."""

import time
from collections.abc import Callable

LOCAL_SHARE, NORM_SHARE = 0.0002, 0.0002
"""Of the time, for checks on gradients: with all hooks the probe stays below 0.2 % of a step."""
LAYERS_SHARE = 0.002
"""Of the time, for the gradients of layers: where norms go on being suspicious, no more than it."""


class TimeBudget:
    """Lets a check run so rarely that its cost stays below a share of the time.

    A check that took c seconds is due again c / share seconds later. After `insist` it is due at
    every step for a while: when something went wrong, knowing more is worth more.
    """

    __slots__ = ("_clock", "_share", "insisted", "next")

    def __init__(self, share: float, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._share = share
        self._clock = clock
        self.next = 0.0
        """When it is due next, by the clock: what asks at every step looks at these two itself."""
        self.insisted = 0

    def due(self) -> bool:
        """Return whether the check may run now; uses up one of the insisted ones."""
        if self.insisted > 0:
            self.insisted -= 1
            return True
        return self._clock() >= self.next

    def spent(self, seconds: float) -> None:
        """Note what a check took; may be called again for a part that is known later."""
        self.next = max(self.next, self._clock()) + seconds / self._share

    def insist(self, times: int) -> None:
        """Let the next checks run whatever they cost."""
        self.insisted = max(self.insisted, times)
