"""Answers that are taken apart as text say what the same answers say as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.collector.prometheus import matrices

WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ['{"metric":', ',"values":[[', "]]}", "]]},", '"', "\\", '\\"', '"result":[', "],[", "é𝄞"]
    ),
)
LABELS = st.dictionaries(WORDS, WORDS, max_size=4)
TIMES = st.integers(1_000_000_000_000, 2_000_000_000_000).map(lambda ms: ms / 1000)
VALUES = st.one_of(st.floats(allow_nan=False).map(str), st.sampled_from(["+Inf", "-Inf", "1e3"]))
SAMPLES = st.lists(st.tuples(TIMES, VALUES), min_size=1, max_size=4)
ROWS = st.lists(st.tuples(LABELS, SAMPLES), max_size=5)


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def read(body):
    """Return what an answer holds, row by row."""
    envelope, rows = matrices.split(body)
    assert rows is not None
    found = []
    for labels, values in zip(rows.labels, rows.values, strict=True):
        found.append((json.loads(labels), *matrices.samples(values, -1, {})))
    return envelope, found, rows.malformed


def answer(rows, **more):
    result = [{"metric": labels, "values": samples} for labels, samples in rows]
    return {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}


@given(ROWS, st.lists(WORDS, max_size=2))
def test_rows_are_those_of_the_json(rows, warnings):
    """Labels and warnings may hold what an answer is taken apart at."""
    expected = [
        (labels, [round(at * 1000) for at, _ in samples], [float(one) for _, one in samples])
        for labels, samples in rows
    ]
    body = answer(rows, warnings=warnings)
    envelope, found, malformed = read(compact(body))
    assert (expected, 0) == (found, malformed)
    assert warnings == envelope["warnings"]
    assert (expected, 0) == read(json.dumps(body).encode())[1:]


def test_samples_that_were_taken_before_are_not_read():
    values = b'1790000001.5,"60"],[1790000016.5,"61"'
    assert ([1_790_000_016_500], [61.0]) == matrices.samples(values, 1_790_000_001_500, {})
    assert ([], []) == matrices.samples(values, 1_790_000_016_500, {})


def test_of_a_series_with_native_histograms_the_plain_samples_are_read():
    """Such a series may have both, or histograms only: which is no series with samples."""
    buckets = {"count": "1", "sum": "2", "buckets": [[0, "1", "2", "1"]]}
    body = answer([({"a": "1"}, [(1.0, "2")]), ({"a": "2"}, [(1.0, "3")])])
    both, plain = body["data"]["result"]
    both["histograms"] = [[1.0, buckets]]
    alone = {"metric": {"a": "3"}, "histograms": [[1.0, buckets]]}
    expected = [({"a": "1"}, [1000], [2.0]), ({"a": "2"}, [1000], [3.0])]
    for rows in ([both, plain], [both, plain, alone], [alone, both, plain]):
        body["data"]["result"] = rows
        assert (expected, len(rows) - 2) == read(compact(body))[1:]
    body["data"]["result"] = [plain, both]
    assert (expected[::-1], 0) == read(compact(body))[1:]


@pytest.mark.parametrize("cut", [1, 3, 60, 100])
def test_an_answer_that_is_cut_off_is_no_json(cut):
    body = compact(answer([({"a": "1"}, [(1.0, "2")]), ({"a": "2"}, [(1.0, "3")])]))
    with pytest.raises(ValueError, match=r"column|char"):
        matrices.split(body[:-cut])


@pytest.mark.parametrize("values", [b'1.0,"x"', b'1.0,"1', b"1.0,1", b'"a","1"', b"", b'1.0,"1"2"'])
def test_what_is_no_sample_is_an_error(values):
    with pytest.raises((ValueError, TypeError)):
        matrices.samples(values, -1, {})
