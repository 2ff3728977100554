"""What goes into the child process of a check and what comes out, as JSON on its pipes."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 64
"""Devices of one host, and more than any has."""
MOST_SAMPLES = 400
"""Repeats that are kept of one row."""


@dataclass(frozen=True, slots=True)
class CheckOrder:
    """What a child is to measure.

    `seconds`: about how long it repeats. `fraction`: the share of the usual sizes, for machines
    that are small. `peer`, `store`, `first`: of the check with a peer, its address, the port of
    the store that both meet at, and whether it is kept here. `extra`: share of work added inside
    the timed part, 0 but in benchmarks of the checks themselves. `ranks`: those that run here, each
    with its pid.
    """

    check: str
    seconds: float = 3.0
    fraction: float = 1.0
    names: tuple[str, ...] = ()
    shared_path: str = ""
    temporary_path: str = ""
    peer: str = ""
    store: int = 0
    first: bool = False
    device: str = ""
    extra: float = 0.0
    ranks: tuple[tuple[int, int], ...] = ()

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "CheckOrder":
        """Return the order of a JSON object that `document` made."""
        ranks = tuple((int(rank), int(pid)) for rank, pid in given.get("ranks", ()))
        values: dict[str, Any] = {**given, "names": tuple(given.get("names", ())), "ranks": ranks}
        return cls(**values)

    def document(self) -> dict[str, Any]:
        """Return the order as a JSON object."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """What was measured of one device, in the check's unit.

    `samples`: the repeats, of the typical of which `quantile` speaks: 0.5 where nobody else uses
    the device, and of what is shared nearer to the best. `kind`: what its values are compared
    within, such as the model and power limit. `missing`, `failed`: why there are none.
    `withheld`: share of the time that a quota or the hypervisor kept; `waited`: that others used.
    `others`: share of all CPUs that other processes had, of what these share with it.
    """

    device: str
    samples: tuple[float, ...] = ()
    kind: str = ""
    quantile: float = 0.5
    missing: str = ""
    failed: str = ""
    withheld: float = 0.0
    waited: float = 0.0
    others: float = 0.0

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "MeasuredRow":
        """Return the row of a JSON object. Raises TypeError, KeyError, ValueError."""
        return cls(
            device=str(given["device"]),
            samples=tuple(float(value) for value in given["samples"][:MOST_SAMPLES]),
            kind=str(given["kind"]),
            quantile=float(given["quantile"]),
            missing=str(given["missing"]),
            failed=str(given["failed"]),
            withheld=float(given["withheld"]),
            waited=float(given["waited"]),
            others=float(given["others"]),
        )

    def document(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return dataclasses.asdict(self)


def repeated(
    once: Callable[[], float], *, seconds: float, now: Callable[[], float], least: int = 5
) -> tuple[float, ...]:
    """Return what `once` gives, again and again for so many seconds, the first time left out."""
    once()
    end = now() + seconds
    found: list[float] = []
    while len(found) < MOST_SAMPLES and (len(found) < least or now() < end):
        found.append(once())
    return tuple(found)
