"""Planes: readings by slots of the reporting interval, a thinned past, exact counters."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.collector.windows.plane_data import THIN_SECONDS
from rankscope.collector.windows.plane_sets import PlaneSet
from rankscope.collector.windows.planes import FINE_SECONDS, MetricPlane

START = 1_700_000_100.0  # the beginning of a quarter of an hour
ROWS = np.arange(2)


@pytest.fixture
def plane():
    plane = MetricPlane("m", counter=False)
    plane.fit(2)
    return plane


def write(plane, at, *value, rows=ROWS):
    times = np.full(len(rows), START + at)
    plane.write(rows[: len(value)], times[: len(value)], np.array(value, float))


def held(plane, row=0):
    at, value = plane.read(np.array([row]), -np.inf, np.inf)
    valid = np.isfinite(at[0])
    return list(zip((at[0][valid] - START).tolist(), value[0][valid].tolist(), strict=True))


def test_readings_are_read_with_their_times_oldest_first(plane):
    for at in range(0, 30, 5):
        write(plane, at + 0.5, at, -at)
    assert [(at + 0.5, at) for at in range(0, 30, 5)] == held(plane)
    assert [(at + 0.5, -at) for at in range(0, 30, 5)] == held(plane, 1)


@pytest.mark.parametrize("interval", [1.0, 5.0, 10.0, 30.0])
def test_slots_follow_the_reporting_interval_and_hold_the_fine_time(plane, interval):
    count = int(FINE_SECONDS / interval) + 50
    for number in range(count):
        write(plane, number * interval, number)
    assert interval == plane.interval
    assert len(held(plane)) * interval >= FINE_SECONDS
    assert (count - 1) == held(plane)[-1][1]


def test_a_source_that_reports_more_often_later_gets_finer_slots(plane):
    for number in range(10):
        write(plane, 10.0 * number, number)
    for number in range(30):
        write(plane, 100.0 + number, number)
    assert 1.0 == plane.interval
    assert [(100.0 + n, n) for n in range(20, 30)] == held(plane)[-10:]
    assert (90.0, 9) in held(plane), "what was read before is still there"


def test_the_newer_of_two_readings_in_one_slot_stays(plane):
    for number in range(8):
        write(plane, 5.0 * number, number)
    plane.write(np.array([0, 0]), START + np.array([41.0, 40.0]), np.array([2.0, 1.0]))
    assert (41.0, 2.0) == held(plane)[-1]
    assert 2.0 == plane.last_value[0]


def test_a_late_reading_is_kept_and_is_not_the_last(plane):
    for number in (0, 1, 2, 3, 4, 6):
        write(plane, 5.0 * number, number)
    write(plane, 25.0, 5)
    assert [(5.0 * n, n) for n in range(7)] == held(plane)
    assert 6 == plane.last_value[0]


def test_a_reading_older_than_the_fine_time_is_counted_and_left_out(plane):
    for number in range(8):
        write(plane, 5.0 * number, number)
    write(plane, -2 * FINE_SECONDS, 9)
    assert 1 == plane.late
    assert 8 == len(held(plane))


def test_what_was_reported_as_nan_is_a_reading(plane):
    write(plane, 0.0, np.nan)
    assert np.isfinite(plane.last_at[0])
    assert np.isnan(plane.last_value[0])


def test_a_large_counter_keeps_its_growth():
    plane = MetricPlane("c", counter=True)
    plane.fit(1)
    for number in range(50):
        write(plane, 10.0 * number, 4e12 + 6400.0 * number)
    _, value = plane.read(np.array([0]), -np.inf, np.inf)
    np.testing.assert_array_equal(6400.0, np.diff(value[0][np.isfinite(value[0])]))


def test_a_counter_keeps_its_growth_for_days():
    plane = MetricPlane("c", counter=True)
    plane.fit(1)
    for day in range(5):
        for number in range(6):
            write(plane, 86_400.0 * day + 10.0 * number, 700.0 * (86_400 * day + 10 * number))
    newest = [value for _, value in held(plane)[-6:]]
    np.testing.assert_allclose(7000.0, np.diff(newest), rtol=1e-6)


def test_when_a_counter_last_moved_is_remembered():
    plane = MetricPlane("collective.enqueued", counter=True, tracked=True)
    plane.fit(1)
    for at, value in ((0, 1), (5, 2), (10, 2), (15, 2)):
        write(plane, at, value)
    assert plane.changed_at is not None
    assert START + 5 == plane.changed_at[0]
    plane.write(np.array([0, 0]), START + np.array([20.0, 25.0]), np.array([3.0, 3.0]))
    assert START + 20 == plane.changed_at[0]


def test_beyond_the_fine_time_means_of_quarters_are_left(plane):
    for number in range(int(3 * THIN_SECONDS / 10) + 1):
        write(plane, 10.0 * number, number // 90, np.nan)
    at, value = plane.history(ROWS)
    assert [THIN_SECONDS, 2 * THIN_SECONDS, 3 * THIN_SECONDS] == (at - START).tolist()
    np.testing.assert_array_equal([[0, 1, 2], [np.nan] * 3], value)


def test_a_cleared_row_is_empty_and_others_stay(plane):
    for number in range(200):
        write(plane, 10.0 * number, 1, 2)
    plane.clear(np.array([0]))
    assert [] == held(plane)
    assert np.isnan(plane.history(ROWS)[1][0]).all()
    assert 2 == held(plane, 1)[-1][1]


def test_rows_may_join_later(plane):
    write(plane, 0.0, 1, 2)
    plane.fit(500)
    write(plane, 5.0, 3, rows=np.array([400]))
    assert ([(0.0, 1)], [(5.0, 3)]) == (held(plane), held(plane, 400))


def test_the_first_source_in_the_contracts_order_wins_and_of_equals_the_newest():
    planes = PlaneSet()
    number = planes.plane("m", counter=False)

    def claim(source, series):
        may, stopped = planes.claim(
            number, np.array([0]), np.array([source], np.int8), np.array([series], np.int32)
        )
        return bool(may[0]), stopped.tolist()

    assert (True, []) == claim(2, 10)
    assert (False, []) == claim(3, 11)
    assert (True, [10]) == claim(0, 12)
    assert (True, [12]) == claim(0, 13), "another process took its place"


@given(
    points=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 40), st.floats(-5, 5, width=32)),
        max_size=60,
        unique_by=lambda point: point[:2],
    ),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
@settings(max_examples=examples(60), deadline=None)
def test_however_readings_are_batched_they_are_read_back(points, cuts):
    plane = MetricPlane("m", counter=False)
    plane.fit(2)
    points = sorted(points, key=lambda point: point[1])
    edges = sorted({0, *(min(cut, len(points)) for cut in cuts), len(points)})
    for begin, end in pairwise(edges):
        rows, at, value = zip(*points[begin:end], strict=True)
        plane.write(np.array(rows), START + 5.0 * np.array(at, float), np.array(value, float))
    for row in range(2):
        assert [(5.0 * at, value) for of, at, value in points if of == row] == held(plane, row)


@given(
    st.lists(
        st.lists(st.floats(0, 1e9, width=32), min_size=3, max_size=3), min_size=6, max_size=20
    ),
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.booleans(),
)
@settings(max_examples=examples(40))
def test_readings_of_several_times_in_one_batch_are_kept_as_those_of_one(values, late, counter):
    """A host reads at one time, a proxy sends several: the paths differ, the planes do not."""
    together = MetricPlane("m", counter=counter, tracked=True)
    apart = MetricPlane("m", counter=counter, tracked=True)
    rows = np.arange(3)
    for plane in (together, apart):
        plane.fit(3)
        for number in range(6):
            write(plane, 5.0 * number, 1, 2, 3, rows=rows)
    for number, value in enumerate(values, start=6):
        at = START + 5.0 * number + np.array(late) / 4
        together.write(rows, at, np.array(value))
        for row in rows.tolist():
            apart.write(rows[row : row + 1], at[row : row + 1], np.array(value[row : row + 1]))
    for row in rows.tolist():
        assert held(together, row) == held(apart, row)
    assert together.last_value[rows].tolist() == apart.last_value[rows].tolist()
    assert together.changed_at is not None
    assert apart.changed_at is not None
    assert together.changed_at[rows].tolist() == apart.changed_at[rows].tolist()


@pytest.mark.parametrize("counter", [False, True])
def test_batches_written_together_are_as_if_written_one_after_the_other(counter):
    """Hosts of one plane, over the end of a slot of the thinned tier."""
    draw = np.random.default_rng(5)
    one, other = MetricPlane("m", counter=counter), MetricPlane("m", counter=counter)
    rows, part = np.arange(8), np.repeat(np.arange(4), 2)
    for plane in (one, other):
        plane.fit(8)
    for number in range(240):
        at = 1000.0 + 5 * number + np.repeat(draw.uniform(0, 4, 4), 2)
        value = number + draw.uniform(0, 1, 8)
        one.write_parts(rows, at, value, part)
        for begin in range(0, 8, 2):
            here = slice(begin, begin + 2)
            other.write(rows[here], at[here], value[here])
    for name in ("value", "part", "used", "thin_at", "last_at", "last_value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(
        one.thin[np.isfinite(one.thin_at)], other.thin[np.isfinite(other.thin_at)]
    )


@pytest.mark.parametrize("hosts", [2, 6])
@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0, 1]])
def test_few_batches_and_many_are_written_alike(hosts, rows):
    """Rows of a host that follow one another, and rows that do not; gauges and counters."""
    draw, count = np.random.default_rng(7), 3
    one, other = PlaneSet(), PlaneSet()
    for held_by in (one, other):
        for name, counter in (("gauge", False), ("counter", True)):
            number = held_by.plane(name, counter=counter)
            held_by.planes[number].fit(count * hosts)
    planes = np.tile(np.repeat([0, 1], count), hosts)
    of_host = np.concatenate([np.array(rows) + count * host for host in range(hosts)])
    places = of_host.reshape(hosts, count).repeat(2, axis=0).reshape(-1)
    part = np.repeat(np.arange(hosts), 2 * count)
    for number in range(240):
        at = 1000.0 + 5 * number + np.repeat(draw.uniform(0, 4, hosts), 2 * count)
        value = number // 50 + np.round(draw.uniform(0, 0.6, len(at)))
        one.append(planes, places, at, value, part)
        for host in range(hosts):
            for metric in (0, 1):
                here = (part == host) & (planes == metric)
                other.planes[metric].write(places[here], at[here], value[here])
    for mine, its in zip(one.planes, other.planes, strict=True):
        for name in ("value", "part", "used", "thin_at", "last_at", "last_value"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(its, name))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 3)), max_size=60),
    st.floats(0, 300),
)
@settings(max_examples=examples(60), deadline=None)
def test_after_a_counter_last_moved_no_two_readings_of_a_row_differ(points, seconds):
    """What detectors rely on who leave counters that stand still unread."""
    plane = MetricPlane("c", counter=True)
    plane.fit(4)
    for row, at, value in points:
        write(plane, 5.0 * at, value, rows=np.array([row]))
    if not points or plane.moved_at >= START + seconds - 1.0:
        return
    at, value = plane.read(np.arange(4), START + seconds, np.inf)
    for row in range(4):
        assert len(set(value[row][np.isfinite(at[row])].tolist())) <= 1


@pytest.mark.parametrize("rows", [slice(1, 4), np.array([1, 2, 3]), np.array([3, 1])])
@pytest.mark.parametrize("count", [40, 400])
def test_readings_are_the_same_however_their_rows_are_chosen(rows, count):
    """With a ring that began anew among them and with one that did not."""
    plane = MetricPlane("m", counter=False)
    plane.fit(5)
    for number in range(count):
        write(plane, 5.0 * number, *range(number, number + 5), rows=np.arange(5))
    for start, end in ((-np.inf, np.inf), (START + 5.0 * count - 101, START + 5.0 * count - 31)):
        every_at, every_value = plane.read(np.arange(5), start, end)
        at, value = plane.read(rows, start, end)
        np.testing.assert_array_equal(every_at[rows], at)
        np.testing.assert_array_equal(every_value[rows], value)
        assert at.flags.f_contiguous, "sums over readings add in the same order"


@given(
    st.lists(
        st.tuples(st.floats(0.0, 40.0), st.sampled_from([0.0, 1.0, 1.0, 7.5, np.nan, np.inf])),
        min_size=1,
        max_size=60,
    ),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(100), deadline=None)
def test_a_reading_by_itself_is_written_as_it_is_among_others(readings, counter, tracked):
    alone, among = (MetricPlane("m", counter=counter, tracked=tracked) for _ in range(2))
    for plane in (alone, among):
        plane.fit(3)
    at = START
    for number, (gap, value) in enumerate(readings):
        at += gap - 2.0 * (number % 7 == 3)
        alone.write_one(1, at, value)
        among.write_at(np.array([1]), at, np.array([value]))
    for name in ("value", "part", "used", "thin", "thin_at", "last_at", "last_value", "changed_at"):
        assert repr(getattr(alone, name)) == repr(getattr(among, name)), name
    for name in ("newest", "newest_at", "late", "interval", "moved_at", "version"):
        assert getattr(alone, name) == getattr(among, name), name


class TestACounterHasMoved:
    @pytest.fixture
    def counter(self):
        counter = MetricPlane("errors", counter=True)
        counter.fit(2)
        return counter

    def test_not_by_its_first_value_nor_by_the_same_one(self, counter):
        write(counter, 0.0, 5.0)
        write(counter, 5.0, 5.0, 9.0)
        write(counter, 10.0, 5.0, 9.0)
        assert -np.inf == counter.moved_at

    def test_when_it_grows(self, counter):
        write(counter, 0.0, 5.0, 9.0)
        write(counter, 5.0, 5.0, 10.0)
        write(counter, 10.0, 5.0, 10.0)
        assert START + 5.0 == counter.moved_at
