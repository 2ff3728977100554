"""The forms of a log's own training lines: learnt from the first lines, then read in all others.

A form is the losses and the counts that lines name, in their order. It counts once several lines
have it, the count rises from line to line and the loss changes: what is written once (settings,
results) never does. The first form with a loss is the log's, and there is no other.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from . import names
from .fields import LineField

T = TypeVar("T")

ENOUGH, ENOUGH_UNCOUNTED = 4, 6
"""Lines of a form that bear each other out: with a count that rises, and without one."""

ENOUGH_CONSTANT = 10
"""Lines with a count that rises, and one loss in all of them: nothing is learned there."""

_MOST_FORMS = 8


@dataclass(frozen=True, slots=True)
class LearnedLine:
    """What a line of the log's own form says; times in seconds, None for what it does not say."""

    loss: float
    step: float | None = None
    epoch: int | None = None
    once: bool = False
    """The step is the epoch, since nothing else counts."""
    data: float | None = None
    took: float | None = None


@dataclass(frozen=True, slots=True)
class _OwnForm:
    """Which fields are what, by their labels; `total`: the count stands where its end would."""

    loss: str
    count: str = ""
    epoch: str = ""
    total: bool = False

    def read(self, fields: Sequence[LineField]) -> LearnedLine | None:
        loss = _first(fields, self.loss)
        if loss is None:
            return None
        count = _first(fields, self.count) if self.count else None
        epoch = _first(fields, self.epoch) if self.epoch else None
        step: float | None = None
        if count is not None:
            step = count.of if self.total else count.value
        if self.total and count is not None:
            epoch = count
        data, took = _times(fields)
        return LearnedLine(
            loss.value,
            step,
            None if epoch is None else int(epoch.value),
            once=self.count == self.epoch and bool(self.count),
            data=data,
            took=took,
        )


@dataclass(slots=True)
class OwnForms(Generic[T]):
    """Learns the form of one log. `T` is what the caller needs to report a line."""

    _held: dict[tuple[str, ...], list[tuple[T, list[LineField]]]] = field(
        default_factory=dict[tuple[str, ...], list[tuple[T, list[LineField]]]]
    )
    _refused: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    _known: tuple[str, ...] | None = None
    _form: _OwnForm | None = None

    @property
    def known(self) -> bool:
        """Tell whether the log's own form is known."""
        return self._form is not None

    def take(self, line: T, fields: Sequence[LineField]) -> list[tuple[T, LearnedLine]] | None:
        """Take a line; return those that count now, None where it is of no form."""
        names_of = signature(fields)
        if names_of is None or names_of in self._refused:
            return None
        if self._form is not None:
            found = self._form.read(fields) if names_of == self._known else None
            return None if found is None else [(line, found)]
        if names_of not in self._held and len(self._held) >= _MOST_FORMS:
            return None
        held = self._held.setdefault(names_of, [])
        held.append((line, list(fields)))
        if len(held) < ENOUGH:
            return []
        form = _learnt([one for _, one in held])
        if form is None and len(held) < _awaited(held[0][1], held[-1][1]):
            return []
        del self._held[names_of]
        if form is None:
            self._refused.add(names_of)
            return None
        self._form, self._known = form, names_of
        self._held.clear()
        read_now = [(one, form.read(fields_of)) for one, fields_of in held]
        return [(one, said) for one, said in read_now if said is not None]

    def waiting(self) -> list[T]:
        """Return the lines that no others bore out, and forget them."""
        every = [line for held in self._held.values() for line, _ in held]
        self._held.clear()
        return every


def signature(fields: Sequence[LineField]) -> tuple[str, ...] | None:
    """Return the labels of losses and counts of a line, None where it names no loss."""
    found = [
        one.label
        for one in fields
        if names.of_loss(one.label) is not None
        or names.of_count(one) is not None
        or names.of_sum(one.label)
    ]
    if all(names.of_loss(label) is None for label in found):
        return None
    return tuple(found)


def _awaited(first: Sequence[LineField], newest: Sequence[LineField]) -> int:
    """Return how many lines are waited for whose form is not yet known."""
    return ENOUGH_CONSTANT if _counted([first, newest], "") else ENOUGH_UNCOUNTED


def _learnt(lines: Sequence[Sequence[LineField]]) -> _OwnForm | None:
    """Return the form of lines that have one signature, None where they are no training lines."""
    ranked = sorted(
        (rank, place, one.label)
        for place, one in enumerate(lines[0])
        if (rank := _rank(one.label)) is not None
    )
    if not ranked:
        return None
    constant = len(lines) >= ENOUGH_CONSTANT
    loss = next(
        (label for _, _, label in ranked if _changes(lines, label, constant=constant)), None
    )
    if loss is None:
        return None
    form = _counted(lines, loss)
    return _OwnForm(loss) if form is None and len(lines) >= ENOUGH_UNCOUNTED else form


def _rank(label: str) -> int | None:
    """Return how well a label says that a number is the loss, beside losses or their parts."""
    rank = names.of_loss(label)
    return names.SUM if rank is None and names.of_sum(label) else rank


def _changes(lines: Sequence[Sequence[LineField]], label: str, *, constant: bool) -> bool:
    """Tell whether a number is in each line, is no count, and not always the same.

    `constant`: it may be.
    """
    values = [found for one in lines if (found := _first(one, label)) is not None]
    finite = {one.value for one in values if math.isfinite(one.value)}
    whole = all(one.count for one in values)
    return len(values) == len(lines) and not whole and (constant or len(finite) != 1)


def _counted(lines: Sequence[Sequence[LineField]], loss: str) -> _OwnForm | None:
    """Return the form with the count that rises from line to line, the best of several."""
    counts = sorted(
        {(rank, one.label) for one in lines[0] if (rank := names.of_count(one)) is not None}
    )
    epoch = next((label for _, label in counts if names.of_epoch(label)), "")
    listed = {
        label: [found for one in lines if (found := _first(one, label)) is not None and found.count]
        for _, label in counts
    }
    listed = {label: found for label, found in listed.items() if len(found) == len(lines)}
    for label, every in listed.items():
        if _rise([one.value for one in every]):
            return _OwnForm(loss, label, epoch)
    for label, every in listed.items():
        totals = [one.of for one in every if one.of is not None]
        if len(totals) == len(every) and _rise(totals):
            return _OwnForm(loss, label, total=True)
    for label, every in listed.items():
        epochs = [one.value for one in listed.get(epoch, [])]
        pairs = list(zip(epochs, [one.value for one in every], strict=False))
        if label != epoch and pairs and _later(pairs):
            return _OwnForm(loss, label, epoch)
    return None


def _rise(values: Sequence[float]) -> bool:
    return all(after > before for before, after in itertools.pairwise(values))


def _later(pairs: Sequence[tuple[float, float]]) -> bool:
    """Tell whether each epoch and count come after those before them."""
    return all(after > before for before, after in itertools.pairwise(pairs))


def _first(fields: Sequence[LineField], label: str) -> LineField | None:
    return next((one for one in fields if one.label == label), None)


def _times(fields: Sequence[LineField]) -> tuple[float | None, float | None]:
    """Return the wait for a batch and the time of the step that contains it."""
    data = next((one.seconds for one in fields if names.of_data(one.label)), None)
    took = next((one.seconds for one in fields if names.of_step_time(one.label)), None)
    if data is None or took is None or not 0 <= data <= took:
        return None, None
    return data, took
