"""Updates that are skipped one after the other since their losses are not finite.

Such a line stands above or below that of its step, or in its place. Of several ranks each says it,
so lines with no step between them are as many updates as a host has not ranks.
"""

from collections.abc import Iterable

from ...vocabulary.log_lines import LOSS_SKIPPED
from ...vocabulary.samples import Event, Sample
from . import skipped_updates

_RANKS = 16
"""Of so many lines without a step between them each may be of another rank."""
_STEP = "training.step"


class SkippedLosses:
    """Counts them in one log."""

    def __init__(self) -> None:
        self._updates = self._lines = 0
        self._next = skipped_updates.FIRST
        self._step: float | None = None
        self._waits = False
        """Whether a loss was skipped of which no step was reported yet."""

    def stepped(self, samples: Iterable[Sample]) -> None:
        """Take the samples of a reported step: that behind the last one, if skipped, is no end."""
        step = next((one.value for one in samples if one.metric == _STEP), None)
        if step is not None and step == self._step:
            return  # of another rank
        follows = step is not None and (self._step is None or step == self._step + 1)
        if not (self._waits and follows):
            self._updates = self._lines = 0
            self._next = skipped_updates.FIRST
        self._step, self._waits = step, False

    def read(self, text: str, at: float, rank: int | None) -> list[Event]:
        """Take a line that says it; return what is to be told with it."""
        self._updates += not self._waits
        self._lines += 1
        self._waits = True
        count = max(self._updates, self._lines // _RANKS)
        if count < self._next:
            return []
        self._next *= 2
        return [skipped_updates.event(LOSS_SKIPPED, count, text, at, rank)]
