"""What decoding gives: points as parallel columns, their series as small integers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...vocabulary.samples import Event, TelemetryResource
from .series import FULL, SKIP, SeriesKey, SeriesTable

__all__ = [
    "FULL",
    "SKIP",
    "BodyLayout",
    "LogsBatch",
    "MetricsBatch",
    "PointColumns",
    "PointRejections",
    "SeriesKey",
    "SeriesTable",
]


@dataclass(frozen=True, slots=True)
class PointColumns:
    """Points in the order of the payload, as three parallel arrays.

    `series` int32 ids of a SeriesTable, `at` float64 seconds since the epoch, `value` float64.
    """

    series: NDArray[np.int32]
    at: NDArray[np.float64]
    value: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.series)


class BodyLayout(Protocol):
    """How the bytes of a request lie, the same for every request of a steady sender."""

    @property
    def digest(self) -> bytes:
        """Return what distinguishes this layout from any other."""
        ...

    def slots(self) -> NDArray[np.int32]:
        """Return the offsets of the 8-byte fields that change: times, values, start times."""
        ...


@dataclass(frozen=True, slots=True)
class MetricsBatch:
    """The points of one request; `rejected` counts those not kept, `reason` says why ("": none).

    `layout` is set where the request lay like an earlier one. `scraped`: somebody else read the
    series and sends them on, repeating what he read: silence is judged by their times, and no host
    has a clock of its own in them. `written` counts the sender's own samples that were taken, those
    included of which nothing is made, where the protocol wants that number. `resources` are the
    numbers of all that the request has a metric of, kept or not.
    """

    columns: PointColumns
    rejected: int = 0
    reason: str = ""
    layout: BodyLayout | None = field(default=None, compare=False)
    scraped: bool = False
    written: int = 0
    resources: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class LogsBatch:
    """The events of one request; `rejected` counts records not kept, `reason` says why.

    `cut` counts records of which the beginning of a text is kept. `resources` are those of all
    records, kept or not.
    """

    events: list[Event] = field(default_factory=list)
    rejected: int = 0
    reason: str = ""
    cut: int = 0
    resources: Sequence[TelemetryResource] = field(default=(), compare=False)


@dataclass(slots=True)
class PointRejections:
    """What of a request is not kept, by reason, in order of appearance."""

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, count: int = 1) -> None:
        """Count points or records turned away; `reason` completes "3 points ..."."""
        if count:
            self.counts[reason] = self.counts.get(reason, 0) + count

    @property
    def total(self) -> int:
        """Return how many were turned away."""
        return sum(self.counts.values())

    def text(self, what: str) -> str:
        """Return the sentence for the sender, `what` being "points" or "records"."""
        counted = sorted(self.counts.items())
        return "; ".join(f"{what} {reason}: {count}" for reason, count in counted)
