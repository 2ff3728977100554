"""Periodic readings: a ring a row, no order needed, one append a batch."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.collector.windows.rings import Rings


@pytest.fixture
def rings() -> Rings:
    return Rings(slots=4)


def write(rings, *points, now=100.0):
    """Write (row, at, value) points as one batch."""
    rows, at, value = zip(*points, strict=True)
    rings.append(np.array(rows), np.array(at, float), np.array(value, float), now)


def held(rings, row):
    valid = np.isfinite(rings.at[row])
    return sorted(zip(rings.at[row][valid].tolist(), rings.value[row][valid].tolist(), strict=True))


def test_readings_of_one_batch_go_to_their_rows(rings):
    a, b = rings.add(), rings.add()
    write(rings, (a, 1, 10), (b, 1, 20), (a, 2, 11))
    assert [(1, 10), (2, 11)] == held(rings, a)
    assert [(1, 20)] == held(rings, b)
    assert (2, 11, 100) == (rings.last_at[a], rings.last_value[a], rings.last_received[a])


def test_a_full_ring_forgets_its_oldest_writings(rings):
    row = rings.add()
    for at in range(1, 8):
        write(rings, (row, at, at * 10))
    assert [(4, 40), (5, 50), (6, 60), (7, 70)] == held(rings, row)


def test_a_batch_larger_than_the_ring_leaves_its_newest(rings):
    row = rings.add()
    write(rings, *((row, at, at) for at in range(1, 11)))
    assert [7, 8, 9, 10] == [at for at, _ in held(rings, row)]


def test_an_empty_batch_changes_nothing(rings):
    row = rings.add()
    nothing = np.zeros(0)
    rings.append(nothing.astype(int), nothing, nothing, 100.0)
    assert [] == held(rings, row)
    assert -np.inf == rings.last_received[row]


def test_a_duplicate_takes_a_slot_and_changes_nothing_else(rings):
    row = rings.add()
    write(rings, (row, 1, 10))
    write(rings, (row, 1, 10), now=101.0)
    assert [(1, 10), (1, 10)] == held(rings, row)
    assert (1, 10, 1) == (rings.last_at[row], rings.last_value[row], rings.changed_at[row])


def test_a_late_reading_is_kept_and_is_not_the_last(rings):
    row = rings.add()
    write(rings, (row, 5, 50))
    write(rings, (row, 3, 30), now=106.0)
    assert [(3, 30), (5, 50)] == held(rings, row)
    assert (5, 50, 106) == (rings.last_at[row], rings.last_value[row], rings.last_received[row])


def test_when_a_value_last_moved_is_remembered(rings):
    row = rings.add()
    for at, value in ((1, 7), (2, 7), (3, 8), (4, 8)):
        write(rings, (row, at, value))
    assert 3 == rings.changed_at[row]


def test_a_released_row_is_empty_and_given_out_again(rings):
    row = rings.add()
    write(rings, (row, 1, 10))
    rings.release([row])
    assert row == rings.add()
    assert [] == held(rings, row)
    assert 1 == rings.rows
    write(rings, (row, 9, 90))
    assert [(9, 90)] == held(rings, row)


def test_releasing_nothing_is_allowed(rings):
    rings.release([])
    assert 0 == rings.add()


def test_the_table_grows_and_keeps_what_it_holds(rings):
    first = rings.add()
    write(rings, (first, 1, 10))
    rows = [rings.add() for _ in range(300)]
    write(rings, (rows[-1], 2, 20))
    assert [(1, 10)] == held(rings, first)
    assert [(2, 20)] == held(rings, rows[-1])
    assert -np.inf == rings.last_at[rows[-2]]


@given(
    points=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 9)), max_size=40
    ),
    cuts=st.lists(st.integers(0, 40), max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_however_points_are_batched_the_newest_writings_of_each_row_are_there(points, cuts):
    rings = Rings(slots=8)
    for _ in range(3):
        rings.add()
    edges = [0, *sorted(cuts), len(points)]
    written: dict[int, list[tuple[float, float]]] = {0: [], 1: [], 2: []}
    for first, end in itertools.pairwise(edges):
        batch = points[first:end]
        if batch:
            write(rings, *batch)
        for row, at, value in sorted(batch, key=lambda point: point[:2]):
            written[row].append((float(at), float(value)))
    for row, valid in written.items():
        assert sorted(valid[-8:]) == held(rings, row)
        if valid:
            assert max(at for at, _ in valid) == rings.last_at[row]
