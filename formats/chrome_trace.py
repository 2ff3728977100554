"""Chrome's trace format as torch.profiler writes it: what a rank did in a few steps, in numbers.

A trace is a tenant's file. It is read event by event, so that its size bounds the memory that is
taken, and nothing in it is believed beyond the numbers: names are cut, times must be finite.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

KINDS = ("compute", "kernels", "launches", "copies", "collectives", "gaps", "python")
"""Rows of a summary, in the order in which they are shown.

compute: operators on the host, outermost ones; kernels, copies: on the device; launches: calls
into the device's runtime; gaps: time in which the device did nothing or, where there is none,
neither an operator of the training thread nor any collective ran; python: functions of a trace that
py-spy made, which has nothing else, each without the time in the ones that it called.
"""

MOST_EVENTS = 2_000_000
MOST_NAMES = 30
"""Names of operators, kernels and collectives that a summary keeps: those with most time."""
_LONGEST_NAME = 120
_LATEST = 1e18
"""Microseconds: the year 33658."""

_COLLECTIVE = re.compile(r"(?:gloo|nccl|rccl|hccl|ucc|mpi|xccl):|ncclDevKernel|ncclKernel")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "hip_runtime", "privateuse1_runtime")
_COPIES = ("gpu_memcpy", "gpu_memset")
_KERNELS = ("kernel", "mtia_ccp_events")
_OPERATORS = ("cpu_op", "user_annotation", "operator")
_PYTHON = "python_function"
_SEPARATORS = re.compile(r"[\s,]*")
_EVENTS = re.compile(r'"traceEvents"\s*:\s*\[')


class TraceError(ValueError):
    """A trace that cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class TraceAmount:
    """How often, and for how many seconds in all."""

    count: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """What a trace holds. `seconds`: its length; `kinds` by KINDS; `names`: (kind, name)."""

    seconds: float
    kinds: dict[str, TraceAmount] = field(default_factory=dict)
    names: dict[tuple[str, str], TraceAmount] = field(default_factory=dict)


def summary(text: str) -> TraceSummary:
    """Return the summary of a trace. Raises TraceError."""
    return _summary(_events(text))


def _events(text: str) -> Iterator[dict[str, Any]]:
    begin = _EVENTS.search(text)
    if begin is None:
        raise TraceError("there is no list traceEvents")
    decoder = json.JSONDecoder()
    at = begin.end()
    for _ in range(MOST_EVENTS):
        space = _SEPARATORS.match(text, at)
        at = space.end() if space else at
        if text[at : at + 1] == "]":
            return
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise TraceError(f"an event cannot be read: {error}") from error
        if isinstance(event, dict):
            yield event
    raise TraceError(f"more than {MOST_EVENTS} events")


@dataclass(slots=True)
class _TraceSums:
    """Counts and intervals while a trace is read; times in microseconds."""

    amounts: dict[str, list[float]] = field(default_factory=dict)
    names: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    threads: dict[object, list[tuple[float, float, str]]] = field(default_factory=dict)
    device: list[tuple[float, float]] = field(default_factory=list)
    waits: list[tuple[float, float]] = field(default_factory=list)
    calls: dict[object, list[tuple[float, float, str]]] = field(default_factory=dict)
    span: tuple[float, float] | None = None

    def add(self, kind: str, name: str, duration: float) -> None:
        of_kind = self.amounts.setdefault(kind, [0, 0.0])
        of_name = self.names.setdefault((kind, name), [0, 0.0])
        for row in (of_kind, of_name):
            row[0] += 1
            row[1] += duration


def _summary(events: Iterable[dict[str, Any]]) -> TraceSummary:
    sums = _TraceSums()
    for event in events:
        if event.get("ph") == "X":
            _take(sums, event)
    trainer = _trainer(sums.threads)
    _outermost(sums, trainer)
    busy = [(begin, end) for begin, end, _ in trainer] + sums.device + sums.waits
    if sums.span is None and busy:
        sums.span = min(begin for begin, _ in busy), max(end for _, end in busy)
    if sums.span is None and sums.calls:
        sums.span = _functions(sums)
    elif sums.span is not None:
        for begin, end in _gaps(sums.device or busy, sums.span):
            sums.add("gaps", "", end - begin)
    if sums.span is None:
        raise TraceError("it holds no operator and no kernel")
    kept = sorted(
        (key for key in sums.names if key[1]), key=lambda key: (-sums.names[key][1], key)
    )[:MOST_NAMES]
    return TraceSummary(
        seconds=(sums.span[1] - sums.span[0]) / 1e6,
        kinds={kind: _amount(sums.amounts[kind]) for kind in KINDS if kind in sums.amounts},
        names={key: _amount(sums.names[key]) for key in kept},
    )


def _take(sums: _TraceSums, event: dict[str, Any]) -> None:
    begin, duration = _time(event.get("ts")), _time(event.get("dur"))
    name, category = event.get("name"), event.get("cat")
    if begin is None or duration is None or not isinstance(name, str):
        return
    name, end = name[:_LONGEST_NAME], begin + duration
    if category == "Trace" and name.startswith("PyTorch Profiler"):
        sums.span = (begin, end)
    elif category in _KERNELS:
        sums.device.append((begin, end))
        sums.add("collectives" if _COLLECTIVE.search(name) else "kernels", name, duration)
    elif category in _COPIES:
        sums.device.append((begin, end))
        sums.add("copies", name, duration)
    elif category in _LAUNCHES:
        sums.add("launches", name, duration)
    elif category in _OPERATORS and _COLLECTIVE.match(name):
        sums.waits.append((begin, end))
        sums.add("collectives", name, duration)
    elif category == _PYTHON:
        sums.calls.setdefault(_thread(event), []).append((begin, end, name))
    elif category in _OPERATORS:
        sums.threads.setdefault(_thread(event), []).append((begin, end, name))


def _thread(event: dict[str, Any]) -> int | str | None:
    """Return what an event calls its thread; what is no name for one is none."""
    name = event.get("tid")
    return name if isinstance(name, int | str) else None


def _time(value: object) -> float | None:
    """Return a time in microseconds, None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _LATEST else None


def _trainer(
    threads: dict[object, list[tuple[float, float, str]]],
) -> list[tuple[float, float, str]]:
    """Return the operators of the thread that ran most of them."""
    return max(threads.values(), key=len, default=[])


def _outermost(sums: _TraceSums, operators: list[tuple[float, float, str]]) -> None:
    """Count the operators that lie in no other one; those of annotations count within."""
    until = -math.inf
    for begin, end, name in sorted(operators, key=lambda row: (row[0], -row[1])):
        if begin >= until:
            sums.add("compute", name, end - begin)
            until = end


def _functions(sums: _TraceSums) -> tuple[float, float]:
    """Count each function of the busiest thread by its own time; return from when to when."""
    calls = sorted(_trainer(sums.calls), key=lambda row: (row[0], -row[1]))
    inside: list[tuple[float, str, float]] = []
    """Of each function that is open: its end, its name, the time that is its own so far."""

    def leave(until: float) -> None:
        while inside and inside[-1][0] <= until:
            _, name, own = inside.pop()
            sums.add("python", name, max(0.0, own))

    for begin, end, name in calls:
        leave(begin)
        if inside:
            around, outer, own = inside[-1]
            inside[-1] = (around, outer, own - (min(end, around) - begin))
        inside.append((end, name, end - begin))
    leave(math.inf)
    return calls[0][0], max(end for _, end, _ in calls)


def _gaps(
    busy: list[tuple[float, float]], span: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """Yield the stretches of a span in which nothing is busy."""
    at = span[0]
    for begin, end in sorted(busy):
        if begin > at:
            yield at, min(begin, span[1])
        at = max(at, end)
        if at >= span[1]:
            return
    if at < span[1]:
        yield at, span[1]


def _amount(row: list[float]) -> TraceAmount:
    return TraceAmount(int(row[0]), row[1] / 1e6)
