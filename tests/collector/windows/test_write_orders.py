"""Orders of points: found once for batches alike, and what is written by them is the same."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.collector.windows import write_orders
from rankscope.collector.windows.plane_sets import PlaneSet
from rankscope.collector.windows.write_orders import KeptOrders, WriteOrder

NONE = np.zeros(0, np.int64)


@pytest.fixture
def orders():
    return KeptOrders(WriteOrder)


def batch(hosts, ranks=2, planes=3):
    """Return planes and rows of hosts that send metric by metric, and where hosts begin."""
    one = np.repeat(np.arange(planes), ranks)
    of_host = [ranks * host + np.tile(np.arange(ranks), planes) for host in hosts]
    begins = len(one) * np.arange(1, len(hosts))
    return np.tile(one, len(hosts)), np.concatenate(of_host), begins


def test_batches_alike_have_one_order(orders):
    assert orders.of(*batch([0, 1, 2]), 6) is orders.of(*batch([0, 1, 2]), 6)


@pytest.mark.parametrize(
    "other", [batch([0, 2, 1]), batch([0, 1, 3]), (*batch([0, 1, 2])[:2], np.array([3, 12]))]
)
def test_batches_unlike_the_one_before_have_one_of_their_own(orders, other):
    first = orders.of(*batch([0, 1, 2]), 6)
    assert first is not orders.of(*other, 6)
    assert orders.of(*other, 6).holds(*other)


def test_hosts_that_report_one_after_the_other_have_an_order_each(orders):
    first = [orders.of(*batch([host]), 6) for host in range(4)]
    assert first == [orders.of(*batch([host]), 6) for host in range(4)]


def test_no_more_points_are_kept_than_memory_is_planned_for(orders, monkeypatch):
    monkeypatch.setattr(write_orders, "KEPT_POINTS", 20 - 6 * write_orders.KEPT_OF_ROW)
    large, oldest = orders.of(*batch(range(4)), 6), orders.of(*batch([0]), 6)
    for host in (1, 2, 3):
        orders.of(*batch([host]), 6)
    assert large is not orders.of(*batch(range(4)), 6)
    assert oldest is not orders.of(*batch([0]), 6)


def test_a_snapshot_holds_no_order(orders):
    orders.of(*batch(range(30)), 6)
    assert len(pickle.dumps(orders)) == len(pickle.dumps(KeptOrders(WriteOrder)))
    assert copy.deepcopy(orders).of(*batch([1]), 6).holds(*batch([1]))


def test_rows_that_follow_one_another_are_a_slice_over_all_hosts():
    together = WriteOrder(*batch([0, 1, 2]))
    assert [slice(0, 6)] * 3 == [write.rows for write in together.writes]
    assert [[0, 2, 4, 6], [6, 8, 10, 12], [12, 14, 16, 18]] == [
        write.edges for write in together.writes
    ]
    turned = WriteOrder(*batch([1, 0, 2]))
    assert [[2, 3, 0, 1, 4, 5]] * 3 == [
        np.arange(12)[write.rows].tolist() for write in turned.writes
    ]


@given(
    st.permutations(range(6)),
    st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5]), min_size=40, max_size=40),
    st.booleans(),
)
@settings(max_examples=examples(40), deadline=None)
def test_hosts_of_one_time_and_of_several_are_written_as_one_by_one(hosts, strays, counter):
    """Each second six hosts at one time, or one of them at another; over a slot's learnt length."""
    planes, rows, begins = batch(hosts)
    part = np.repeat(np.arange(len(hosts)), np.diff([0, *begins, len(rows)]))
    one, other = PlaneSet(), PlaneSet()
    for held in (one, other):
        for name in "abc":
            held.planes[held.plane(name, counter=counter)].fit(12)
    draw = np.random.default_rng(3)
    for number, stray in enumerate(strays):
        at = np.full(len(rows), 1000.0 + 5 * number)
        at[part == number % 6] += stray
        value = number // 3 + np.round(draw.uniform(0, 0.6, len(rows)))
        one.append(planes, rows, at, value, part)
        for host in range(len(hosts)):
            for metric in range(3):
                here = (part == host) & (planes == metric)
                other.planes[metric].write(rows[here], at[here], value[here])
    for mine, its in zip(one.planes, other.planes, strict=True):
        assert mine.moved_at == its.moved_at
        for name in ("value", "part", "used", "thin_at", "last_at", "last_value"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))
