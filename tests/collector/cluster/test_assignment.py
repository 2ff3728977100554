"""Who owns which partition: shared out evenly, moved where that is needed, under later epochs."""

import dataclasses

import hypothesis.strategies as st
from hypothesis import given

from rankscope.collector.cluster.assignment import (
    LivenessSigns,
    PartitionAssignment,
    PartitionLease,
)

PARTITIONS = 12


def _with(*names: str, before: PartitionAssignment | None = None) -> PartitionAssignment:
    found = before or PartitionAssignment()
    for name in names:
        found = found.beaten(name, f"http://{name}")
    return found.balanced(set(names), PARTITIONS, floor=0)


def _settled(found: PartitionAssignment, *names: str) -> PartitionAssignment:
    """Let every owner hand over what it is to."""
    for _ in range(PARTITIONS):
        for name in names:
            found = found.handed(name, found.leaving(name), floor=0)
        found = found.balanced(set(names), PARTITIONS, floor=0)
    return found


def test_the_first_collector_owns_everything():
    assert len(_with("a").owned("a")) == PARTITIONS


def test_a_second_collector_gets_half_once_the_first_has_handed_it_over():
    found = _with("a", "b", before=_with("a"))
    assert len(found.owned("a")) == PARTITIONS  # its state is not kept yet
    assert len(found.leaving("a")) == PARTITIONS // 2

    found = _settled(found, "a", "b")
    assert len(found.owned("a")) == len(found.owned("b")) == PARTITIONS // 2


def test_a_partition_of_a_collector_that_is_gone_is_taken_at_once_under_a_later_epoch():
    found = _settled(_with("a", "b", "c"), "a", "b", "c")
    lost = found.owned("b")
    after = found.balanced({"a", "c"}, PARTITIONS, floor=0)
    assert not after.owned("b")
    for number, epoch in lost.items():
        assert after.leases[number].epoch > epoch
    kept = {**found.owned("a"), **found.owned("c")}
    assert {n: after.leases[n].epoch for n in kept} == kept


def test_an_epoch_is_never_below_the_floor_even_if_the_bucket_lost_all_it_held():
    found = PartitionAssignment().beaten("a", "").balanced({"a"}, PARTITIONS, floor=1_000)
    assert set(found.owned("a").values()) == {1_000}


def test_what_was_to_go_to_a_collector_that_died_meanwhile_stays():
    found = _with("a", "b", before=_with("a"))
    found = found.balanced({"a"}, PARTITIONS, floor=0)
    assert len(found.owned("a")) == PARTITIONS
    assert not found.leaving("a")


def test_the_document_comes_back_as_it_was_written():
    found = _with("a", "b")
    assert PartitionAssignment.unpack(found.pack()) == found


@given(st.lists(st.sets(st.sampled_from("abcde"), min_size=1), min_size=1, max_size=6))
def test_whoever_comes_and_goes_loads_differ_by_one_at_most_and_epochs_only_rise(rounds):
    found = PartitionAssignment()
    for names in rounds:
        before = found
        for name in names:
            found = found.beaten(name, "")
        found = _settled(found.balanced(names, PARTITIONS, floor=0), *names)
        loads = [len(found.owned(name)) for name in names]
        assert sum(loads) == PARTITIONS
        assert max(loads) - min(loads) <= 1
        for old, new in zip(before.leases, found.leases, strict=False):
            assert new.epoch > old.epoch if new.owner != old.owner else new.epoch >= old.epoch


def test_a_collector_is_gone_after_so_many_signs_of_ones_own_without_one_of_its():
    signs = LivenessSigns(3)
    found = _with("a", "b")
    for _ in range(3):
        found = found.beaten("a", "")
        assert signs.live(found, "a") == {"a", "b"}
        signs.given(found)
    signs.given(found.beaten("a", ""))
    assert signs.live(found, "a") == {"a"}


def test_a_new_sign_brings_it_back():
    signs = LivenessSigns(2)
    found = _with("a", "b")
    for _ in range(4):
        signs.given(found)
    assert signs.live(found, "a") == {"a"}
    signs.given(found.beaten("b", ""))
    assert signs.live(found, "a") == {"a", "b"}


def test_while_nobody_can_give_signs_nobody_is_gone():
    signs = LivenessSigns(2)
    found = _with("a", "b")
    signs.given(found)
    assert all(signs.live(found, "a") == {"a", "b"} for _ in range(10))


def test_a_partition_that_was_handed_over_belongs_to_the_next_one():
    found = PartitionAssignment(leases=(PartitionLease("a", 4, "b"),))
    after = found.handed("a", {0}, floor=0)
    assert after.leases == (PartitionLease("b", 5),)
    assert found.handed("c", {0}, floor=0).leases == found.leases
    assert dataclasses.replace(found) == found
