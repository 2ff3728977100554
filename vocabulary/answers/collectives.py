"""Collectives of a job: counters of its groups, and single operations."""

from dataclasses import dataclass
from typing import Annotated

from ..shapes import DocumentShape, FieldPresence, OptionalText
from .clock_offsets import ClockOffsetDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveOperations(DocumentShape):
    """One kind of collective on one rank in its last reporting interval; null: not reported.

    Durations in seconds (the median and the longest), `size` in bytes, `bus_bandwidth` in bytes a
    second. `lateness`: seconds that the others waited for this rank in the median operation, where
    the kind synchronises all members.
    """

    op: str
    source: str | None
    at: str
    count: float | None
    duration: float | None
    duration_max: float | None
    size: float | None
    bus_bandwidth: float | None
    lateness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveMember(DocumentShape):
    """One rank in one communication group: its last collectives, from the source that is named.

    `also`: other names of the group, under which NCCL reports it. `at`: when the counters were last
    reported, `changed_at`: when one last moved. `pid`, `pci_bus_id`, `communicator_rank`: the
    process as its own namespace numbers it, its device and its rank there, as NCCL logged them.
    """

    group: str
    kind: str
    description: str
    size: int
    also: list[str]
    rank: int
    host: str | None
    source: str | None
    enqueued: float | None
    started: float | None
    completed: float | None
    at: str | None
    changed_at: str | None
    pid: Annotated[int | None, FieldPresence.OPTIONAL] = None
    pci_bus_id: OptionalText = None
    communicator_rank: Annotated[int | None, FieldPresence.OPTIONAL] = None
    operations: list[CollectiveOperations]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectivesDocument(DocumentShape):
    """The ranks of a job in its communication groups, by group and rank."""

    items: list[CollectiveMember]
    next_cursor: OptionalText = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationMember(DocumentShape):
    """One rank in one collective, by its host's clock; null: not reported.

    `lateness`: seconds that others waited for it, where the kind synchronises all members.
    """

    rank: int
    host: str | None
    source: str
    enqueued_at: str | None
    completed_at: str | None
    seconds: float | None
    lateness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveOperation(DocumentShape):
    """One collective: its number in the group (of its kind, where NCCL numbers it), its members."""

    group: str
    op: str
    sequence: int
    size: int | None
    members: list[OperationMember]


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleCollectives(DocumentShape):
    """Single collectives of a job, the newest of each group and kind first."""

    items: list[CollectiveOperation]
    clock_offsets: list[ClockOffsetDocument]
    next_cursor: OptionalText = None
