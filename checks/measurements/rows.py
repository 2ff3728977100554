"""What goes into the child process of a check and what comes out, as JSON on its pipes."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_ROWS = 64
"""Devices of one host, and more than any has."""
MOST_SAMPLES = 400
"""Repeats that are kept of one row."""


@dataclass(frozen=True, slots=True)
class CheckOrder:
    """What a child is to measure.

    `seconds`: about how long it repeats; `longest`: until when it may go on while its repeats
    differ too much. `fraction`: the share of the usual sizes, for machines
    that are small. `peer`, `store`, `first`: of the check with a peer, its address, the port of
    the store that both meet at, and whether it is kept here. `extra`: share of work added inside
    the timed part, 0 but in benchmarks of the checks themselves. `ranks`: those that run here, each
    with its pid.
    """

    check: str
    seconds: float = 3.0
    longest: float = 0.0
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

    `samples`: the repeats in the order of time, of the typical of which `quantile` speaks: 0.5
    where nobody else uses the device, and of what is shared nearer to the best. `kind`: what its
    values are compared within, such as the model and power limit. `missing`, `failed`: why there
    are none.
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


def joined(rows: Sequence[MeasuredRow], more: Sequence[MeasuredRow]) -> list[MeasuredRow]:
    """Return the rows with what was measured of the same devices once more.

    What could not be measured again stays as it was; what failed has failed.
    """
    later = {(row.device, row.kind): row for row in more}
    failed = [row for row in more if row.failed]
    return failed or [_with(row, later.get((row.device, row.kind))) for row in rows]


def _with(row: MeasuredRow, later: MeasuredRow | None) -> MeasuredRow:
    if later is None or not later.samples:
        return row
    share = len(later.samples) / (len(row.samples) + len(later.samples))
    return dataclasses.replace(
        row,
        samples=(*row.samples, *later.samples)[-MOST_SAMPLES:],
        withheld=row.withheld + (later.withheld - row.withheld) * share,
        waited=row.waited + (later.waited - row.waited) * share,
        others=row.others + (later.others - row.others) * share,
    )


def standard_error(values: Sequence[float]) -> float:
    """Return by about how much the median would move if all were measured once more.

    The values stand in the order of time: where the second half differs from the first by more
    than chance, something drifts, and that counts. Infinite for two and three; 0 for a single one,
    which is a reading and no repeat.
    """
    if len(values) < 4:
        return 0.0 if len(values) < 2 else math.inf
    low, _, high = statistics.quantiles(values, n=4)
    middle = len(values) // 2
    drift = abs(statistics.median(values[:middle]) - statistics.median(values[middle:])) / 2
    # 0.93 times the interquartile range over the root is that of a median of normal values. How far
    # a few lie apart is hardly known, and whoever stops where it seems small is misled; repeats of
    # one moment are alike, and however many there are, a tenth of it stays.
    error = 0.93 * (1 + 4 / len(values)) / math.sqrt(len(values))
    return max(max(error, 0.1) * (high - low), drift)
