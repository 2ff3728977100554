"""Steps that are counted from the start again by a job that resumed: they go on from the last one.

A job that goes on from a checkpoint mostly goes on with its count. One that counts anew begins no
later than one report after zero, below what it had reached: without this its steps would be those
that it made at its very start.
"""

from bisect import bisect_right
from collections.abc import MutableSequence
from dataclasses import replace

from ....formats.training_logs import resumes
from ....vocabulary.samples import Event, Sample

_STEP, _NUMERIC = "training.step", "training.numeric"

Samples = MutableSequence[tuple[int | None, Sample]]
Events = MutableSequence[tuple[int | None, str, Event]]


def apply(samples: Samples, events: Events) -> None:
    """Change the steps of samples and of events about values; places of both stay as they are."""
    said = sorted(event.at for _, _, event in events if event.name == resumes.EVENT and event.at)
    if not said:
        return
    ranks: dict[int | None, list[int]] = {}
    for place, (rank, sample) in enumerate(samples):
        if sample.metric == _STEP:
            ranks.setdefault(rank, []).append(place)
    for rank, places in ranks.items():
        shifts = _shifts([samples[place][1] for place in places], said)
        if not shifts:
            continue
        times = [at for at, _ in shifts]
        for place in places:
            sample = samples[place][1]
            more = _at(times, shifts, sample.at)
            samples[place] = rank, replace(sample, value=sample.value + more)
        for place, (whose, host, event) in enumerate(events):
            step = event.attributes.get("step")
            if whose == rank and event.name == _NUMERIC and isinstance(step, int):
                pairs = {**event.attributes, "step": step + int(_at(times, shifts, event.at))}
                events[place] = whose, host, replace(event, attributes=pairs)


def _shifts(steps: list[Sample], said: list[float]) -> list[tuple[float, float]]:
    """Return from when on how much is to be added to the steps of a rank, ascending."""
    ordered = sorted((one.at, one.value) for one in steps)
    found: list[tuple[float, float]] = []
    shift = 0.0
    for (before, reached), (at, value), (_, following) in zip(
        ordered, ordered[1:], ordered[2:], strict=False
    ):
        resumed = bisect_right(said, before) < bisect_right(said, at)
        if resumed and value <= reached and value <= following - value:
            shift += reached
            found.append((at, shift))
    return found


def _at(times: list[float], shifts: list[tuple[float, float]], at: float) -> float:
    place = bisect_right(times, at)
    return shifts[place - 1][1] if place else 0.0
