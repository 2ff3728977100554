"""Values of logs that name no step: they are counted, as a live collector does after a while.

Lines that name an epoch alone have that as their step, and the later ones of it have none: what is
not finite in them is of the epoch, where no finite value of the rank follows.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

from ....vocabulary.samples import Event, Sample, attributes
from .runs import StepFall

_STEP = "training.step"
_VALUES = frozenset({"training.loss", "training.grad_norm"})
_LOSS = "training.loss"
_NUMERIC = "training.numeric"

Places = dict[tuple[int | None, float], int]
"""The number of the values of a rank at a time, from 1."""


def places(samples: Iterable[tuple[int | None, Sample]], falls: Iterable[StepFall] = ()) -> Places:
    """Return the numbers of values of the ranks of which no line names a step.

    They begin anew where what the lines say of epochs falls back: that is another run.
    """
    times: dict[int | None, set[float]] = {}
    named: set[int | None] = set()
    for rank, sample in samples:
        if sample.metric == _STEP:
            named.add(rank)
        elif sample.metric in _VALUES:
            times.setdefault(rank, set()).add(sample.at)
    begins = {one.at for one in falls}
    found: Places = {}
    for rank, ats in times.items():
        number = 0
        for at in sorted(ats) if rank not in named else ():
            number = 1 if at in begins else number + 1
            found[rank, at] = number
    return found


def steps(counted: Places) -> list[tuple[int | None, Sample]]:
    """Return a sample of the step of each."""
    return [
        (rank, Sample(_STEP, float(number), at, attributes({"rank": rank, "source": "log"})))
        for (rank, at), number in counted.items()
    ]


def lost(samples: Iterable[tuple[int | None, Sample]]) -> Places:
    """Return the step of the first value at no step since which no finite one of its rank came."""
    every = [(rank, one) for rank, one in samples if one.metric in (_LOSS, _STEP)]
    if all(math.isfinite(one.value) for _, one in every):
        return {}
    every.sort(key=lambda pair: pair[1].at)
    newest: dict[int | None, Sample] = {}
    first: dict[int | None, tuple[float, int]] = {}
    for rank, sample in every:
        if sample.metric == _STEP:
            newest[rank] = sample
        elif math.isfinite(sample.value):
            first.pop(rank, None)
        elif rank in newest and sample.at > newest[rank].at:
            first.setdefault(rank, (sample.at, int(newest[rank].value)))
    return {(rank, at): step for rank, (at, step) in first.items()}


def event(one: Event, rank: int | None, counted: Places) -> Event:
    """Return an event about a value with its step, where that was counted."""
    number = counted.get((rank, one.at))
    if one.name != _NUMERIC or number is None or "step" in one.attributes:
        return one
    return replace(one, attributes={**one.attributes, "step": number})
