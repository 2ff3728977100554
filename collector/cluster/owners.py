"""Who owns a partition, as requests ask for it, and which partition a request is about."""

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from ..intake.waiting import UnavailableError

asked: ContextVar[int | None] = ContextVar("asked", default=None)
"""The partition that a request is about; None: all that are owned here."""


class MovingError(UnavailableError):
    """The partition that was asked for is on its way to another collector."""


@dataclass(frozen=True, slots=True)
class PartitionLocation:
    """Who owns a partition: oneself (`local`, and whether its state is restored), or an address."""

    local: bool
    ready: bool
    address: str


class PartitionOwners(Protocol):
    """Whoever says which collector has which partition."""

    @property
    def partitions(self) -> int:
        """Return how many there are."""
        ...

    def find(self, partition: int) -> PartitionLocation: ...

    def others(self) -> list[str]:
        """Return the addresses of the other collectors."""
        ...

    def partitions_of_host(self, host: str) -> frozenset[int]:
        """Return the partitions that have the telemetry of a host."""
        ...
