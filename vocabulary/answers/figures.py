"""Pictures of a job: bands, heatmaps, phases, waits."""

from dataclasses import dataclass
from typing import Literal

from ..shapes import DocumentShape

Values = list[float | None]
"""By bucket of time, null where nobody reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDocument(DocumentShape):
    """One rank or host among the others: values as in the bands."""

    rank: int | None
    host: str | None
    values: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class NonfiniteDocument(DocumentShape):
    """When a rank's or a host's value was NaN or infinite, at most 100 times."""

    rank: int | None
    host: str | None
    at: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantDocument(DocumentShape):
    """One variant of a metric over `count` ranks or hosts; lists run over buckets of time.

    `low` and `high` are the quartiles over ranks; a bucket in which nobody reported has null.
    """

    attributes: dict[str, str]
    count: int
    lowest: Values
    low: Values
    median: Values
    high: Values
    highest: Values
    mean: Values
    lines: list[LineDocument]
    nonfinite: list[NonfiniteDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionDocument(DocumentShape):
    """A metric summed up over ranks: value i lies `seconds` * (i + 0.5) after `from`.

    `rate`: the metric is a counter, and the values are its increase per second. `source`: windows
    (the recent past) or journal, read again. `held_from`: since when windows hold the metric.
    """

    metric: str
    unit: str | None
    rate: bool
    start: str
    seconds: float
    source: Literal["windows", "journal"]
    held_from: str | None
    variants: list[VariantDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatmapDocument(DocumentShape):
    """A per-step metric, ranks down, steps across. `cells`: base64, one byte a cell, row by row.

    A cell's value is low + byte / 254 * (high - low), the highest of the ranks and steps that it
    stands for; 255: nobody reported. Values beyond `high` have the byte 254. `ranks` and `steps`
    are the first of each row and column. Without data, `cells` is empty.
    """

    metric: str
    unit: str | None
    rows: int
    columns: int
    ranks: list[int]
    steps: list[int]
    ranks_a_row: float
    steps_a_column: float
    first_at: str | None
    last_at: str | None
    low: float
    high: float
    cells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTimes(DocumentShape):
    """Seconds of a step by phase, means over ranks; `other` is what no phase accounts for."""

    at: list[str]
    steps: list[int]
    seconds: dict[str, Values]


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedRank(DocumentShape):
    """A rank that others waited for: rank-seconds they lost, and steps in which it was the last."""

    rank: int
    host: str | None
    seconds: float
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitMatrix(DocumentShape):
    """Rank-seconds that `names`[row] waited for `names`[column], over `steps` steps.

    Up to 64 ranks it is by rank, else by host, at most the 64 hosts that are awaited most.
    """

    by: Literal["rank", "host"]
    names: list[str]
    seconds: list[Values]
    steps: int
    awaited: list[AwaitedRank]
