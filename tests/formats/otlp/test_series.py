"""The table of series: numbers in arrays, the same whoever adds them and in whatever portions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.otlp import encode
from rankscope.formats.otlp.columns import FULL, SKIP, SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder
from rankscope.formats.otlp.numbering import KeyNumbers, distinct
from rankscope.formats.otlp.series import IdTranslation
from rankscope.vocabulary.samples import Sample, TelemetryResource, attributes

HOST = TelemetryResource("host-a", "run-1")


@pytest.fixture
def table():
    return SeriesTable()


def rank(number, **more):
    return attributes({"rank": number, **more})


def test_equal_series_have_equal_ids_and_others_have_not(table):
    ids = [
        table.intern(HOST, "a", rank(1)),
        table.intern(HOST, "a", rank(2)),
        table.intern(HOST, "b", rank(1)),
        table.intern(TelemetryResource("host-b", "run-1"), "a", rank(1)),
        table.intern(HOST, "a", rank(1)),
        table.intern(HOST, "a", rank(True)),
        table.intern(HOST, "a", rank(1.0)),
        table.intern(HOST, "a", rank("1")),
    ]
    assert [0, 1, 2, 3, 0, 4, 5, 6] == ids


def test_a_series_says_what_it_was_registered_with(table):
    number = table.intern(HOST, "a", rank(1, zone="x", op="y"))
    found = table[number]
    assert (HOST, "a", rank(1, zone="x", op="y")) == (
        found.resource,
        found.metric,
        found.attributes,
    )


def test_a_full_table_refuses_and_counts_what_is_new_and_takes_what_is_known():
    table = SeriesTable(2)
    ids = [table.intern(HOST, "a", rank(number)) for number in (1, 2, 3, 1)]
    assert ([0, 1, FULL, 0], 1, True) == (ids, table.refused, table.full)


def test_unkept_metrics_are_skipped():
    table = SeriesTable(unkept=frozenset({"a"}))
    assert SKIP == table.intern(HOST, "a", rank(1))
    assert 0 == len(table)


def test_released_ids_are_given_out_again_after_the_next_release(table):
    for number in range(4):
        table.intern(HOST, "a", rank(number))
    table.release(np.array([1, 2], np.int32))
    assert 4 == table.intern(HOST, "a", rank(9)), "batches under way still carry them"
    table.release(np.array([3], np.int32))
    fresh = {table.intern(HOST, "a", rank(number)) for number in (10, 11)}
    assert {1, 2} == fresh
    assert rank(10) in {table[one].attributes for one in fresh}
    assert (0, 4) == (table.intern(HOST, "a", rank(0)), table.intern(HOST, "a", rank(9)))
    assert 4 == table.live


def test_a_layout_whose_series_were_released_is_read_again():
    table = SeriesTable()
    decoder = MetricsDecoder(table)
    body = encode.metrics_request([(HOST, [Sample("training.loss", 1.0, 5.0, rank(0))])])
    for _ in range(2):
        decoder.protobuf(body)
    for one in ([0], [0]):
        table.release(np.array(one, np.int32))
        table.intern(HOST, "x", rank(one[0] + table.releases))
    batch = decoder.protobuf(body)
    (series,) = batch.columns.series.tolist()
    assert "training.loss" == table[series].metric


def test_a_table_is_pickled_with_everything_it_holds(table):
    table.intern(HOST, "a", rank(1))
    again = pickle.loads(pickle.dumps(table, 5))  # noqa: S301  our own bytes
    assert (0, 1) == (again.intern(HOST, "a", rank(1)), again.intern(HOST, "a", rank(2)))


@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12)))
def test_a_translation_gives_the_ids_that_adding_one_by_one_gives(batches):
    source, target, expected = SeriesTable(), SeriesTable(), SeriesTable()
    source.intern(HOST, "other", rank(77))
    translation = IdTranslation(source, target)
    for batch in batches:
        named = [("abcd"[metric], rank(number, op=str(metric))) for metric, number in batch]
        ids = np.array([source.intern(HOST, *one) for one in named], np.int32)
        translated = translation.ids(ids).tolist()
        assert [expected.intern(HOST, *one) for one in named] == translated
        assert [target[one].attributes for one in translated] == [one for _, one in named]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=300))
def test_a_numbering_finds_what_was_put_one_by_one_or_together(keys):
    numbers = KeyNumbers(2)
    half = len(keys) // 2
    for number, key in enumerate(keys[:half]):
        numbers.put(key, number)
    numbers.put_many(np.array(keys[half:], np.int64), np.arange(half, len(keys), dtype=np.int32))
    assert list(range(len(keys))) == numbers.get_many(np.array(keys, np.int64)).tolist()
    assert list(range(len(keys))) == [numbers.get(key) for key in keys]


def test_a_numbering_of_many_small_portions_finds_all_and_nothing_else():
    numbers = KeyNumbers(2)
    keys = np.arange(10_000, dtype=np.int64) * 7919
    for begin in range(0, len(keys), 31):
        part = keys[begin : begin + 31]
        assert {-1} == set(numbers.get_many(part).tolist())
        numbers.put_many(part, np.arange(begin, begin + len(part), dtype=np.int32))
        assert len(numbers) == begin + len(part)
    again = pickle.loads(pickle.dumps(numbers, 5))  # noqa: S301  our own bytes
    assert list(range(len(keys))) == again.get_many(keys).tolist()


@given(st.lists(st.integers(0, 9), max_size=30))
def test_distinct_keys_come_in_the_order_in_which_they_first_stand(keys):
    first, which = distinct(np.array(keys, np.int64))
    expected = list(dict.fromkeys(keys))
    assert expected == [keys[place] for place in first.tolist()]
    assert keys == [expected[number] for number in which.tolist()]


def test_names_that_take_all_the_bytes_there_are_leave_known_series_alone():
    table = SeriesTable()
    table.attributes.most_bytes = 20_000
    known = table.intern(TelemetryResource("h", "j"), "a", (("k", "v"),))
    ids = [
        table.intern(
            TelemetryResource(f"host-{number}" * 20, "j"), "a", (("k", f"v{number}" * 50),)
        )
        for number in range(50)
    ]
    taken = [one for one in ids if one >= 0]
    assert 0 < len(taken) < 20
    assert {FULL} == set(ids[len(taken) :])
    assert table.full
    assert table.attributes.text_bytes < 21_000
    assert len(table.resources) <= len(taken) + 3
    assert known == table.intern(TelemetryResource("h", "j"), "a", (("k", "v"),))
    assert table[known].resource == TelemetryResource("h", "j")


@pytest.mark.parametrize("together", [False, True])
def test_short_names_count_with_all_the_memory_that_they_take(together):
    """A thousand attributes of ten bytes take a third of a megabyte, not ten kilobytes."""
    table = SeriesTable()
    table.attributes.most_bytes = 1 << 20
    known = table.intern(TelemetryResource("h", "j"), "a", (("k", "v"),))
    found = []
    for number in range(20):
        pairs = tuple((f"a{number}-{one}", "x") for one in range(1000))
        if together:
            members = np.array([table.attributes.pair(*pair) for pair in pairs], np.int32)
            of = table.attributes.numbers_of(members, np.array([1000], np.int64))
            zero = np.zeros(1, np.int64)
            found.append(int(table.intern_many(zero, zero, of)[0]))
        else:
            found.append(table.intern(TelemetryResource("h", "j"), "a", pairs))
    assert [FULL] * 16 == found[4:]
    assert table.nbytes < 3 << 20
    assert known == table.intern(TelemetryResource("h", "j"), "a", (("k", "v"),))
