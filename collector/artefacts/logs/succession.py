"""Logs of one job that was resumed: the values of one come after those of another.

Lines without a time only have an order, in each log from zero on. A log that says itself that it
goes on from a checkpoint comes after those that do not, and of several the one with the lower
number in its name first.
"""

import re
from collections.abc import MutableSequence
from dataclasses import dataclass, field, replace

from ....formats.training_logs import resumes
from ....vocabulary.samples import Event, Sample
from ..job.endings import UNDATED

_NUMERIC = "training.numeric"
_APART = 100.0
"""Between the orders of two logs; lines of one are 10 us apart."""

_DIGITS = re.compile(r"(\d+)")

Samples = MutableSequence[tuple[int | None, Sample]]
Events = MutableSequence[tuple[int | None, str, Event]]


@dataclass(slots=True)
class LogSuccession:
    """Follows all logs, one after the other. `_logs`: those that resumed, and what each has."""

    _waiting: list[int] = field(default_factory=list[int])
    _resumed: bool = False
    _logs: list[tuple[str, slice, slice]] = field(default_factory=list[tuple[str, slice, slice]])

    def event(self, event: Event, place: int) -> None:
        """Take an event of the log at hand, by its place among all."""
        if event.name == resumes.EVENT:
            self._resumed = True
            if event.at < UNDATED:
                self._waiting.append(place)

    def value(self, sample: Sample, events: Events) -> None:
        """Take a value: a line without a time that the job resumed stands before the next one."""
        if not self._waiting or sample.at >= UNDATED:
            return
        for place in self._waiting:
            rank, host, event = events[place]
            events[place] = rank, host, replace(event, at=sample.at)
        self._waiting.clear()

    def ended(self, name: str, samples: slice, events: slice) -> None:
        """Take the end of a log, and where among all its samples and events are."""
        if self._resumed:
            self._logs.append((name, samples, events))
        self._waiting.clear()
        self._resumed = False

    def apply(self, samples: Samples, events: Events) -> None:
        """Move the orders of logs that resumed behind those of the others."""
        for number, (_, of_samples, of_events) in enumerate(sorted(self._logs, key=_by_name), 1):
            by = number * _APART
            for place in range(of_samples.start, of_samples.stop):
                rank, sample = samples[place]
                if sample.at < UNDATED:
                    samples[place] = rank, replace(sample, at=sample.at + by)
            for place in range(of_events.start, of_events.stop):
                rank, host, event = events[place]
                ordered = event.at > 0 or event.name in (resumes.EVENT, _NUMERIC)
                if ordered and event.at < UNDATED:
                    events[place] = rank, host, replace(event, at=event.at + by)


def _by_name(log: tuple[str, slice, slice]) -> list[tuple[int, str]]:
    """Return a key that puts run2 before run10."""
    return [(int(one) if one.isdigit() else -1, one) for one in _DIGITS.split(log[0])]
