"""Active checks: what hosts measured of themselves, and what their like measure."""

from dataclasses import dataclass

from ..checks import CheckVerdict
from ..shapes import Count, DocumentShape, Figure, OptionalText, Time


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResultDocument(DocumentShape):
    """One result. `at` is when the collector received it; values are in `unit`.

    `kind` is what its values are compared within, such as model and power limit; `interval` within
    which a value is taken for healthy, null where nothing was compared. `incident`: for which it
    was run.
    """

    at: Time
    host: str
    place: str
    check: str
    device: str
    kind: str
    value: Figure | None
    unit: str
    expected: Figure | None
    interval: list[Figure] | None
    compared_with: str | None
    verdict: CheckVerdict
    reason: str
    incident: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResultsDocument(DocumentShape):
    """A page of results, the newest first."""

    items: list[CheckResultDocument]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDistribution(DocumentShape):
    """What hosts of one kind in one place measure, one value each: the median of their devices."""

    check: str
    kind: str
    place: str
    values: list[Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChecks(DocumentShape):
    """How many results were kept."""

    kept: Count
