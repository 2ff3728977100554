"""What was found as it would have been received: in order of event time, by payloads."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...formats.otlp.columns import MetricsBatch, PointColumns, SeriesTable
from ...formats.otlp.times import nanoseconds
from ...vocabulary.samples import Event, Sample, TelemetryResource
from ..intake.payloads import DecodedPayload
from . import rhythm
from .found import ArtefactContents

_WHOLE_SECONDS = 1800.0
"""The end of a job is evaluated second by second."""
_MOST_EVALUATED = 2000
"""Seconds before that: of more every few are left out, as where a live collector is overloaded."""
_MOST_QUIET, _QUIET_EVALUATED = 600, 200
"""Seconds in which steps only go on as they did: of more than those about these are evaluated."""
_LONGEST_QUIET = 15
"""No more of them are left out at the end of a job than those between two that are evaluated."""

_MOST_ALIKE = 64
"""Lines of one signature and rank that are evaluated, the first ones: a million say no more."""


@dataclass(frozen=True, slots=True)
class EvaluationPace:
    """Which seconds are evaluated: of each stretch those that a number divides, 1: all of them.

    A job of weeks has a million; what its steps went through stays in the windows all the same.
    `begins`: the first seconds of stretches, ascending, from the second on; `every`: their numbers.
    """

    begins: Sequence[int] = ()
    every: Sequence[int] = (1,)

    @classmethod
    def of(cls, found: ArtefactContents) -> "EvaluationPace":
        whole_from = int(found.newest - _WHOLE_SECONDS)
        seconds = sorted({int(sample.at) for _, sample in found.samples})
        early = 1 + bisect_left(seconds, whole_from) // _MOST_EVALUATED
        spans = rhythm.happenings(found) if len(seconds) > _MOST_QUIET else []
        loud = sum(bisect_left(seconds, last + 1) - bisect_left(seconds, first)
                   for first, last in spans)  # fmt: skip
        if not spans or len(seconds) - loud <= _MOST_QUIET:
            return cls((whole_from,), (early, 1))
        quiet = (len(seconds) - loud) // _QUIET_EVALUATED
        at_end = min(quiet, _LONGEST_QUIET)
        changes = sorted({
            whole_from, *(first for first, _ in spans), *(last + 1 for _, last in spans)
        })  # fmt: skip
        begun = [first for first, _ in spans]

        def of_second(second: int) -> int:
            place = bisect_right(begun, second) - 1
            inside = place >= 0 and second <= spans[place][1]
            if second < whole_from:
                return early if inside else max(early, quiet)
            return 1 if inside else at_end

        return cls(changes, [of_second(changes[0] - 1), *map(of_second, changes)])

    def until(self, second: int) -> int | None:
        """Return the last second that is left out from this one on, None where it is evaluated."""
        place = bisect_right(self.begins, second)
        every = self.every[place]
        if second % every == 0:
            return None
        last = second - second % every + every - 1
        return min(last, self.begins[place] - 1) if place < len(self.begins) else last

    def turn(self, second: int) -> int:
        """Return the same number for seconds between which none is evaluated."""
        left_out = self.until(second)
        return second if left_out is None else left_out


def in_order(
    found: ArtefactContents, table: SeriesTable, pace: EvaluationPace
) -> Iterator[DecodedPayload]:
    """Yield everything in order of event time, a payload a second and kind.

    Within one a sender's order: by resource, then by metric. Samples between which nothing is
    evaluated and no event comes are one payload.
    """
    samples: dict[int, dict[tuple[TelemetryResource, str], list[Sample]]] = {}
    events: dict[int, dict[TelemetryResource, list[Event]]] = {}
    eventful = sorted({int(event.at) for event in found.events})
    for resource, sample in found.samples:
        if nanoseconds(sample.at):
            turn = pace.turn(int(sample.at))
            if eventful:
                later = bisect_left(eventful, int(sample.at))
                turn = min([turn, *eventful[later : later + 1]])
            named = samples.setdefault(turn, {})
            named.setdefault((resource, sample.metric), []).append(sample)
    alike: Counter[tuple[object, ...]] = Counter()
    for event in sorted(found.events, key=lambda one: one.at):
        pairs = event.attributes
        kind = (
            event.name,
            event.resource.host,
            *map(pairs.get, ("rank", "signature", "code", "hw.id")),
        )
        alike[kind] += 1
        if nanoseconds(event.at) and alike[kind] <= _MOST_ALIKE:
            held = events.setdefault(int(event.at), {})
            held.setdefault(event.resource, []).append(event)
    for second in sorted(samples.keys() | events.keys()):
        if second in samples:
            yield DecodedPayload(metrics=_batch(samples[second], table), table=table)
        if second in events:
            yield DecodedPayload(events=[one for of in events[second].values() for one in of])


def _batch(
    named: Mapping[tuple[TelemetryResource, str], list[Sample]], table: SeriesTable
) -> MetricsBatch:
    ordered: dict[TelemetryResource, list[Sample]] = {}
    for (resource, _), listed in named.items():
        ordered.setdefault(resource, []).extend(listed)
    series = array("i")
    kept: list[Sample] = []
    for resource, listed in ordered.items():
        last, number = None, 0
        for sample in listed:
            of = sample.metric, sample.attributes
            if of != last:
                last, number = of, table.intern(resource, *of)
            if number >= 0:
                series.append(number)
                kept.append(sample)
    at = np.array([sample.at for sample in kept], np.float64)
    value = np.array([sample.value for sample in kept], np.float64)
    return MetricsBatch(PointColumns(np.array(series, np.int32), at, value))
