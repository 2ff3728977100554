"""When something happens in a log, and when nothing but steps arrives that go on as they did.

A value goes on as it did where it lies within those before it, or little beyond; so does a step
where the time since the last one does. What a verdict can follow from is anything else: a value
that leaves its course, a pause, an event, the first of a kind, the last of a kind, the end.
"""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from .found import ArtefactContents

_BEFORE = 32
"""Values of a series that the next one is compared with."""
_BEYOND = 0.5
"""By so much of their range it may lie beyond them."""
_RESOLUTION = 1.0
"""Times in logs are whole seconds, most of them."""
_SHORTLY, _LONG = 10, 120
"""Seconds for which detectors look at what is new, and at what has left its course."""
_SILENT = 600
"""The same after the last value of a series: who waits for it says so after a while."""
_CONFIRMS = "confirmation"

Span = tuple[int, int]
"""Its first and its last second."""


def happenings(found: ArtefactContents) -> list[Span]:
    """Return the spans in which something happens, ascending and apart from each other."""
    return _merged([*_of_events(found), *_of_samples(found)])


def _of_events(found: ArtefactContents) -> Iterator[Span]:
    for event in found.events:
        second = int(event.at)
        news = event.attributes.get("role") == _CONFIRMS
        yield second - 1, second + (_SHORTLY if news else _LONG)


def _of_samples(found: ArtefactContents) -> Iterator[Span]:
    series: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for resource, sample in found.samples:
        key = resource.host, sample.metric, sample.attributes
        series.setdefault(key, []).append((sample.at, sample.value))
    newest = 0
    for (_, metric, _), rows in series.items():
        ordered = np.array(sorted(rows), np.float64)
        at, value = ordered[:, 0], ordered[:, 1]
        newest = max(newest, int(at[-1]))
        if not str(metric).startswith("training.") or len(at) <= _BEFORE:
            yield from ((one - 1, one + _SHORTLY) for one in np.unique(at.astype(int)).tolist())
        else:
            yield int(at[0]) - 1, int(at[_BEFORE]) + _SHORTLY
            paces = np.diff(at, prepend=at[0])
            for place in np.flatnonzero(
                _leaves(value) | _leaves(paces, slack=_RESOLUTION)
            ).tolist():
                yield int(at[place - 1]), int(at[place]) + _LONG
        yield int(at[-1]) - _LONG, int(at[-1]) + _SILENT
    yield newest - _LONG, newest + _SILENT


def _leaves(values: NDArray[np.float64], *, slack: float = 0.0) -> NDArray[np.bool_]:
    """Return which values lie beyond those before them; of the first ones nothing is known."""
    before = sliding_window_view(values[:-1], _BEFORE)
    low, high = before.min(axis=1), before.max(axis=1)
    beyond = slack + _BEYOND * (high - low)
    later = values[_BEFORE:]
    leaves = np.zeros(len(values), bool)
    leaves[_BEFORE:] = ~((later >= low - beyond) & (later <= high + beyond))  # NaN lies nowhere
    return leaves


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged
