"""What is measured and what happens: samples, events, and the resource that reports them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Scalar = str | int | float | bool
Attributes = tuple[tuple[str, Scalar], ...]
"""Sorted (name, value) pairs: hashable, and equal however the sender ordered them."""


def attributes(pairs: Mapping[str, Scalar | None]) -> Attributes:
    """Return sorted pairs, leaving out what is unknown (None)."""
    return tuple(sorted((name, value) for name, value in pairs.items() if value is not None))


JOB_USER = "rankscope.job.user"
"""Resource attribute: the user label of a job, a person or a team that its GPU time is charged to.

Optional; without it the collector's settings may give one by pattern of job ids (`users`).
"""

JOB_SOURCE = "rankscope.job.source"
"""Resource attribute: how telemetry got its job where no agent reports one.

`labels`: from the labels of series that were scraped. No rank is named then: the devices of the job
stand in for its ranks, numbered in order of appearance.
"""


CLAIMED: Mapping[str, Scalar] = {"quality": "claimed"}
"""Attribute of what comes from somebody who may not be whom it names: nobody could check it."""

GUESSED: Mapping[str, Scalar] = {"quality": "guessed"}
"""Attribute of a line whose meaning follows from families of words, as no table has its wording."""


@dataclass(frozen=True, slots=True)
class TelemetryResource:
    """Who reports: one host, and the job attempt the telemetry belongs to (None: the node itself).

    `attempt` is None where the sender names none. `extra` holds the other resource attributes,
    sorted: `k8s.pod.name`, `network.switch`, ...
    """

    host: str
    job: str | None = None
    attempt: int | None = 0
    cluster: str | None = None
    service: str = ""
    extra: Attributes = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series. `at` is seconds since the epoch."""

    metric: str
    value: float
    at: float
    attributes: Attributes = ()


def claimed(pairs: Attributes) -> Attributes:
    """Return the attributes of a series with CLAIMED in the place of any other `quality`."""
    return tuple(sorted([*(pair for pair in pairs if pair[0] not in CLAIMED), *CLAIMED.items()]))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened once. `at` is seconds since the epoch."""

    name: str
    at: float
    attributes: Mapping[str, Scalar] = field(default_factory=dict)
    resource: TelemetryResource = field(default_factory=lambda: TelemetryResource(host=""))
