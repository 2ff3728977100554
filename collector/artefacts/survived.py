"""Lines without a time that a job survived: steps of the same log follow them.

A line without a time is taken for one of the end, as most errors are; who goes on to make steps did
not end by it.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...vocabulary.samples import Event, Sample
from .endings import UNDATED

_STEP = "training.step"
_FOLLOW = 4
"""Steps after a line: what other ranks had begun, and a log holds back, is fewer."""


@dataclass(slots=True)
class SurvivedLines:
    """Follows one log. steps: (line, order) of its steps; lines: (line, place) of events."""

    steps: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    lines: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def step(self, line: int, sample: Sample) -> None:
        """Take a value of a line; that of a step without a time only has an order."""
        if sample.metric == _STEP and sample.at < UNDATED:
            self.steps.append((line, sample.at))

    def event(self, line: int, event: Event, place: int) -> None:
        """Take what may be the cause, by its place among all events."""
        cause = event.attributes.get("role") == "root" or event.name == "network.link"
        if cause and not event.at:
            self.lines.append((line, place))

    def ordered(self) -> Iterator[tuple[int, float]]:
        """Yield (place, order) of the events after which steps follow."""
        self.steps.sort()
        numbers = [line for line, _ in self.steps]
        for line, place in self.lines:
            after = bisect_right(numbers, line)
            if len(numbers) - after >= _FOLLOW:
                # The next one may have been done already, and the first of all has order 0.
                yield place, self.steps[after + 1][1]
