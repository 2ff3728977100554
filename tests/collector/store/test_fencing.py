"""Only the newest owner of a partition writes what it decided."""

import pytest

from rankscope.collector.store.fencing import FencedError, PartitionFence


def test_an_earlier_owner_of_a_partition_can_write_nothing_once_a_later_one_has(store):
    old, new = PartitionFence(3, 7, "old"), PartitionFence(3, 8, "new")
    store.claim_partition(old)
    store.claim_partition(new)
    store.claim_partition(new)  # as often as it likes
    with pytest.raises(FencedError, match="new"):
        store.claim_partition(old)
    with pytest.raises(FencedError):
        store.commit([object()], 0.0, fence=old)


def test_partitions_have_epochs_of_their_own(store):
    store.claim_partition(PartitionFence(1, 9, "one"))
    store.claim_partition(PartitionFence(2, 1, "other"))
