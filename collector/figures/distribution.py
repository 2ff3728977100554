"""A metric of a job as bands and lines, one spread for each of its variants, as JSON has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...detectors.window import JobWindow
from ...vocabulary.times import rfc3339
from ..windows.matrices import MetricMatrix, matrices
from ..windows.queries import variant
from .spread import QUANTILES, SpreadSummer, VariantSpread, fitting, rounded

BANDS = ("lowest", *(name for name, _ in QUANTILES), "highest", "mean")
MOST_VARIANTS = 12


@dataclass(frozen=True, slots=True)
class SpreadQuery:
    """Which metric, at most how many points, and which ranks or hosts as lines of their own."""

    metric: str
    counter: bool
    points: int
    ranks: tuple[int, ...] = ()
    peers: int = 0


@dataclass(frozen=True, slots=True)
class MetricDistribution:
    """Spreads by variant (`hw.frequency|sm`) over buckets of `seconds` from `start` on.

    held_from: the time of the oldest reading, None without any.
    """

    start: float
    seconds: float
    held_from: float | None
    spreads: Mapping[str, VariantSpread]

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "start": rfc3339(self.start),
            "seconds": self.seconds,
            "held_from": None if self.held_from is None else rfc3339(self.held_from),
            "variants": [_variant(name, spread) for name, spread in self.spreads.items()],
        }


def of(window: JobWindow, wanted: SpreadQuery, start: float, end: float) -> MetricDistribution:
    """Return the distribution of a metric in [start, end]."""
    held = _preferred(list(matrices(window, wanted.metric)))
    oldest = [float(np.nanmin(one.at)) for one in held if np.isfinite(one.at).any()]
    start, end, buckets = _fitting(held, start, end, wanted.points)
    spreadings = {one.name: SpreadSummer(start, end, buckets, wanted.counter) for one in held}
    for one in held:
        spreadings[one.name].add(one)
    seconds = (end - start) / buckets
    return MetricDistribution(
        start, seconds, min(oldest, default=None), results(spreadings, wanted)
    )


def results(
    spreadings: Mapping[str, SpreadSummer], wanted: SpreadQuery
) -> dict[str, VariantSpread]:
    """Return what there is, without variants that are zero where others are not."""
    found = {
        name: spread
        for name, one in spreadings.items()
        if (spread := one.result(wanted.ranks, wanted.peers)) is not None
    }
    moving = {name: one for name, one in found.items() if _moving(one)}
    return dict(list((moving or found).items())[:MOST_VARIANTS])


def _preferred(held: list[MetricMatrix]) -> list[MetricMatrix]:
    """Return the matrices of ranks, those of hosts only where there are none."""
    of_ranks = [one for one in held if not one.of_hosts and np.isfinite(one.value).any()]
    return of_ranks or held


def _fitting(
    held: list[MetricMatrix], start: float, end: float, points: int
) -> tuple[float, float, int]:
    """Return buckets that all variants share: where any has readings, as fine as the finest."""
    fits = [fit for one in held if (fit := fitting(one, start, end, points)) is not None]
    if not fits:
        return start, max(end, start + 1.0), points
    return min(fit[0] for fit in fits), max(fit[1] for fit in fits), max(fit[2] for fit in fits)


def _moving(spread: VariantSpread) -> bool:
    highest, lowest = spread.bands.get("highest"), spread.bands.get("lowest")
    if highest is None or lowest is None:
        return True
    return bool(np.nanmax(highest, initial=0.0) > 0 or np.nanmin(lowest, initial=0.0) < 0)


def _variant(name: str, spread: VariantSpread) -> dict[str, Any]:
    return {
        "attributes": variant(name),
        "count": spread.count,
        **{band: rounded(spread.bands.get(band, ())) for band in BANDS},
        "lines": [{**_who(key), "values": rounded(line)} for key, line in spread.lines.items()],
        "nonfinite": [
            {**_who(key), "at": [rfc3339(at) for at in times]}
            for key, times in spread.nonfinite.items()
        ],
    }


def _who(name: int | str) -> dict[str, Any]:
    return {
        "rank": name if isinstance(name, int) else None,
        "host": name if isinstance(name, str) else None,
    }
