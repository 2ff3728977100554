"""Readings of every second that are what they were: they leave with others, or every few seconds.

A batch of its own for ten values that are all the same costs the agent more than to read them.
"""

from collections.abc import Sequence

from ..vocabulary.samples import Sample

LONGEST_SECONDS = 3.0
"""How long nothing new is held back. Whoever hears of a host every three seconds takes it for lost
no later than one that it hears of every second: after ten."""
_EARLY_SECONDS = 0.5
"""What is due so soon leaves now: readings do not come to the millisecond."""


class RepeatedReadings:
    """What each reader's readings were when they left last; for one thread."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, list[tuple[object, ...]]]] = {}

    def hold(
        self, reader: str, period: float, samples: Sequence[Sample], now: float, *, alone: bool
    ) -> bool:
        """Return whether a reading may stay here; else it is noted as one that left now.

        `period`: seconds between two of them. `alone`: nothing else waits to leave. `now` in
        seconds since the epoch.
        """
        if period >= LONGEST_SECONDS:
            return False
        values: list[tuple[object, ...]] = [
            (sample.metric, sample.attributes, sample.value) for sample in samples
        ]
        at, before = self._left.get(reader, (now, []))
        if alone and values == before and 0 <= now - at < LONGEST_SECONDS - _EARLY_SECONDS:
            return True
        self._left[reader] = (now, values)
        return False
