"""Logs of one job that was resumed: the values of one come after those of another.

Lines without a time only have an order, in each log from zero on. A log that says itself that it
goes on from a checkpoint comes after those that do not, and of several the one with the lower
number in its name first. Where the data that logs name are other ones before and after, no training
goes on: that is another one, which begins with weights of the first.
"""

import re
from collections.abc import Iterator, MutableSequence, Sequence
from dataclasses import dataclass, field, replace

from ....formats.training_logs import data_names, resumes
from ....vocabulary.samples import Event, Sample
from ..job.endings import UNDATED

_NUMERIC = "training.numeric"
_APART = 100.0
"""Between the orders of two logs; lines of one are 10 us apart."""

_DIGITS = re.compile(r"(\d+)")

_Said = str | int | None

Samples = MutableSequence[tuple[int | None, Sample]]
Events = MutableSequence[tuple[int | None, str, Event]]


@dataclass(slots=True)
class LogSuccession:
    """Follows all logs, one after the other. `_logs`: those that resumed, and what each has.

    `_data`: by log, in its order, the data that are named, the places of events of a resume, and
    None for values between them and for its end.
    """

    _waiting: list[int] = field(default_factory=list[int])
    _resumed: bool = False
    _logs: list[tuple[str, slice, slice]] = field(default_factory=list[tuple[str, slice, slice]])
    _data: list[tuple[bool, str, list[_Said]]] = field(
        default_factory=list[tuple[bool, str, list[_Said]]]
    )
    _said: list[_Said] = field(default_factory=list[_Said])

    def event(self, event: Event, place: int) -> None:
        """Take an event of the log at hand, by its place among all."""
        if event.name == data_names.EVENT:
            self._say(str(event.attributes["text"]))
        if event.name == resumes.EVENT:
            self._resumed = True
            self._say(place)
            if event.at < UNDATED:
                self._waiting.append(place)

    def value(self, sample: Sample, events: Events) -> None:
        """Take a value: a line without a time that the job resumed stands before the next one."""
        self._say(None)
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
        self._say(None)
        self._data.append((self._resumed, name, self._said))
        self._waiting.clear()
        self._resumed, self._said = False, []

    def _say(self, one: _Said) -> None:
        if not self._said or self._said[-1] != one:
            self._said.append(one)

    def apply(self, samples: Samples, events: Events) -> None:
        """Move the orders of logs that resumed behind those of the others.

        What says that a training with other data resumed says no more than which data it has.
        """
        logs = sorted(self._data, key=lambda one: (one[0], _by_name(one[1])))
        for place in _begun([said for _, _, of_log in logs for said in of_log]):
            rank, host, event = events[place]
            events[place] = rank, host, replace(event, name=data_names.EVENT)
        for number, (_, of_samples, of_events) in enumerate(
            sorted(self._logs, key=lambda one: _by_name(one[0])), 1
        ):
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


def _begun(said: Sequence[_Said]) -> Iterator[int]:
    """Yield the places of events of a resume with none of the data that had been named before.

    A run names its data below such a line, or above it at its start, behind the values of the run
    before. What stands right above the next run may be of that one.
    """
    for number, place in enumerate(said):
        if not isinstance(place, int):
            continue
        below = said[number + 1 :]
        first = below.index(None) if None in below else len(below)
        following = next((n for n in range(first, len(below)) if isinstance(below[n], int)), None)
        if following is not None:
            below = below[: max(n for n in range(following) if below[n] is None)]
        run = max((n for n in range(number) if said[n] is None), default=0)
        after, above = _names(below), _names(said[:number])
        if not after:
            after, above = _names(said[run:number]), _names(said[:run])
        if after and above and not after & above:
            yield place


def _names(said: Sequence[_Said]) -> set[str]:
    return {one for one in said if isinstance(one, str)}


def _by_name(name: str) -> list[tuple[int, str]]:
    """Return a key that puts run2 before run10."""
    return [(int(one) if one.isdigit() else -1, one) for one in _DIGITS.split(name)]
