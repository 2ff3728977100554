"""Values without times of several logs of one folder: those of each ended with its own log.

A log whose values have no time, and whose errors have one, ended with these. Where the logs of a
folder ended one long after the other, they are of several runs: placed at the end of all, the
values of the first would follow its error, which would look survived.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import dataclass, field, replace

from ....vocabulary.samples import Event, Sample
from ..job.endings import UNDATED

_APART_SECONDS = 60.0
"""Logs of one run end closer together."""
_BETWEEN_SECONDS = 1.0

Samples = MutableSequence[tuple[int | None, Sample]]
Events = MutableSequence[tuple[int | None, str, Event]]


@dataclass(slots=True)
class OwnEnds:
    """Holds where among all samples and events those of each log are."""

    _logs: list[tuple[slice, slice]] = field(default_factory=list[tuple[slice, slice]])

    def ended(self, samples: slice, events: slice) -> None:
        """Take the end of a log."""
        self._logs.append((samples, events))

    def apply(self, samples: Samples, events: Events) -> None:
        """Give values without a time, above the first line with one, times up to that."""
        found = [
            (own, said, end)
            for own, said in self._logs
            if (end := _first([event for _, _, event in events[said]])) is not None
            and any(one.at < UNDATED for _, one in samples[own])
        ]
        ends = [end for _, _, end in found]
        if not ends or max(ends) - min(ends) <= _APART_SECONDS:
            return
        for own, said, end in found:
            orders = sorted({one.at for _, one in samples[own] if one.at < UNDATED}, reverse=True)
            times = {order: end - n * _BETWEEN_SECONDS for n, order in enumerate(orders, 1)}
            for place in range(own.start, own.stop):
                rank, sample = samples[place]
                samples[place] = rank, replace(sample, at=times.get(sample.at, sample.at))
            for place in range(said.start, said.stop):
                rank, host, event = events[place]
                if event.at or event.name.startswith("training."):
                    at = times.get(event.at, event.at)
                    events[place] = rank, host, replace(event, at=at)


def _first(events: Sequence[Event]) -> float | None:
    """Return when the first of some events was that have a time."""
    return min((one.at for one in events if one.at >= UNDATED), default=None)
