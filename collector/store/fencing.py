"""Epochs of partitions: only the newest owner of a partition writes what it decided.

The epoch is compared in the transaction that writes, and writers take turns, so a collector that
slept through the end of its lease can neither change an incident nor enqueue a message.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from .errors import StoreError
from .tables import partitions


class FencedError(StoreError):
    """Another collector owns the partition by now."""


@dataclass(frozen=True, slots=True)
class PartitionFence:
    """A partition as one collector owns it."""

    partition: int
    epoch: int
    owner: str


def hold(db: Connection, fence: PartitionFence) -> None:
    """Note the epoch of an owner. Raises FencedError where there was a later one."""
    mine = partitions.c.number == fence.partition
    row = db.execute(select(partitions).where(mine)).one_or_none()
    if row is None:
        db.execute(
            insert(partitions).values(number=fence.partition, epoch=fence.epoch, owner=fence.owner)
        )
    elif row.epoch > fence.epoch:
        raise FencedError(f"partition {fence.partition} is owned by {row.owner} now")
    elif row.epoch < fence.epoch:
        db.execute(update(partitions).where(mine).values(epoch=fence.epoch, owner=fence.owner))
