"""Shares of faults as one site has seen them: the catalogue's, moved by what people confirmed.

Each share is the mean of a beta distribution: STRENGTH imaginary incidents with the catalogue's
share, and the real ones that people gave feedback on. Bounded on both sides, so that no number of
confirmed incidents makes another fault impossible. The same counts give the same shares.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...vocabulary.ids import Fault

STRENGTH = 50.0
"""So many incidents the catalogue's share is worth."""

MOST_COUNTED = 500.0
"""Confirmed incidents beyond so many are scaled down: a site that changes can be learnt anew."""

MOST_FACTOR = 10.0
"""A learnt share is at most so many times the catalogue's, and at least so small a part of it."""

MOST_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class IncidentShare:
    """A share of incidents, 0 to 1, and where it comes from in words."""

    value: float
    text: str


Shares = Callable[[Fault], IncidentShare | None]
"""The share of a fault; None: the catalogue's own."""


def learnt(catalogue: Mapping[Fault, float], confirmed: Mapping[Fault, int]) -> Shares:
    """Return the shares after these confirmed incidents by fault, each counted at one fault."""
    total = sum(confirmed.values())
    if not total:
        return lambda _fault: None

    def share(fault: Fault) -> IncidentShare | None:
        own = catalogue.get(fault)
        if own is None:
            return None
        count = confirmed.get(fault, 0)
        value = mean(own, count, total)
        return IncidentShare(
            value,
            f"catalogue {own:.1%}, with {count} of {total} incidents confirmed here {value:.1%}",
        )

    return share


def mean(own: float, count: int, total: int) -> float:
    """Return the share after `count` of `total` confirmed incidents; `own` is the catalogue's."""
    scale = min(1.0, MOST_COUNTED / total) if total else 1.0
    value = (count * scale + STRENGTH * own) / (total * scale + STRENGTH)
    return min(max(value, own / MOST_FACTOR), own * MOST_FACTOR, max(own, MOST_SHARE))
