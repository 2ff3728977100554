"""Values of logs that name no step: they are counted, as a live collector does after a while."""

from collections.abc import Iterable
from dataclasses import replace

from ....vocabulary.samples import Event, Sample, attributes
from .runs import StepFall

_STEP = "training.step"
_VALUES = frozenset({"training.loss", "training.grad_norm"})
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


def event(one: Event, rank: int | None, counted: Places) -> Event:
    """Return an event about a value with its step, where that was counted."""
    number = counted.get((rank, one.at))
    if one.name != _NUMERIC or number is None or "step" in one.attributes:
        return one
    return replace(one, attributes={**one.attributes, "step": number})
