"""The check to make next: the one that tells the leading causes apart best for what it costs.

A check belongs to one cause and separates it from others: it turns out positive with probability
RELIABLE where its own cause is the true one, with 1 - RELIABLE where one of those others is, and
says nothing about the rest. Its worth is the expected fall of the entropy over the leading
hypotheses (bits), divided by what it costs a person (minutes).
"""

from collections.abc import Mapping, Sequence

from ...vocabulary.ids import Fault
from ...vocabulary.incidents import Hypothesis, NextCheck
from ...vocabulary.information import expected_gain
from ...vocabulary.topology import JobTopology
from . import wording
from .catalogue import CatalogueCause, CauseAdvice

RELIABLE = 0.9
"""How often a check turns out as it should."""

LEADING = 2
"""Checks of so many leading causes are named."""

_PLAUSIBLE = 0.005
"""The share from which on a cause behind the first one is worth a person's minutes."""


def next_checks(
    rows: Sequence[Hypothesis],
    chances: Sequence[float],
    causes: Sequence[CatalogueCause],
    topology: JobTopology,
) -> tuple[NextCheck, ...]:
    """Return the checks of the two leading causes, those that are worth most first.

    Of the second only where it is plausible.

    `chances` are the probabilities of the hypotheses. What separates the two leading causes comes
    before what separates one of them from something less likely.
    """
    by_fault = {cause.fault: cause for cause in causes}
    likely: dict[Fault, float] = {}
    for row, chance in zip(rows, chances, strict=True):
        likely[row.fault] = likely.get(row.fault, 0.0) + chance
    leading = [
        row
        for place, row in enumerate(_leading(rows, by_fault))
        if place == 0 or likely[row.fault] >= _PLAUSIBLE
    ]
    # Of causes that are all but ruled out any check gains nothing: a little doubt keeps an order.
    total = sum(likely.values()) + 0.01 * len(likely)
    shares = {fault: (chance + 0.01) / total for fault, chance in likely.items()}
    asked = [(row, advice) for row in leading for advice in by_fault[row.fault].checks]
    asked.sort(key=lambda item: -gain(item[0].fault, item[1], shares) / item[1].minutes)
    return tuple(
        NextCheck(
            wording.text(advice, row.entity, topology),
            wording.command(advice, row.entity, topology),
            (row.fault, *advice.separates),
        )
        for row, advice in asked
    )


def gain(fault: Fault, check: CauseAdvice, shares: Mapping[Fault, float]) -> float:
    """Return by how many bits a check of a fault is expected to narrow these shares down.

    `shares` by fault sum to 1.
    """
    positive = [
        RELIABLE if name == fault else 1 - RELIABLE if name in check.separates else 0.5
        for name in shares
    ]
    return expected_gain(list(shares.values()), positive)


def _leading(
    rows: Sequence[Hypothesis], by_fault: Mapping[Fault, CatalogueCause]
) -> list[Hypothesis]:
    """Return the best hypothesis of each of the leading faults."""
    best: dict[Fault, Hypothesis] = {}
    for row in rows:
        if row.fault in by_fault:
            best.setdefault(row.fault, row)
    return list(best.values())[:LEADING]
