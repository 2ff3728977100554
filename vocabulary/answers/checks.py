"""Active checks: what hosts measured of themselves, and what their like measure."""

from dataclasses import dataclass
from typing import Annotated, Literal

from ..checks import CheckVerdict
from ..faults import ONE_OF_ALL
from ..shapes import Count, DocumentShape, Figure, OptionalText, Time

CheckRequestState = Literal["waiting", "running", "done", "failed"]


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
class CheckOrderDocument(DocumentShape):
    """A check that the agent of a host is asked to run. `until`: not begun by then, it is void."""

    id: str
    check: str
    incident: str
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequestDocument(DocumentShape):
    """A check that somebody asked for, and how it stands.

    waiting: no agent has taken it yet. running: one has. done: it gave results. failed: `text` says
    why there are none.
    """

    id: str
    check: str
    host: str
    by: str
    at: Time
    status: CheckRequestState
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatingCheck(DocumentShape):
    """The check that tells an incident's causes apart best, for what it costs.

    gain_bits: by how much it is expected to narrow them down. command: what runs it on the host.
    requestable: the collector may ask the host's agent for it.
    """

    check: str
    help: str
    host: str
    gain_bits: Figure
    device_seconds: Figure
    separates: list[Annotated[str, ONE_OF_ALL]]
    command: str
    requestable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatingChecksDocument(DocumentShape):
    """Which check to run for an incident, what was asked for it, and what came of it.

    next: null where no check that was not run yet settles anything; `why` says so.
    """

    next: SeparatingCheck | None
    why: str
    requests: list[CheckRequestDocument]
    results: list[CheckResultDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptChecks(DocumentShape):
    """How many results were kept."""

    kept: Count
