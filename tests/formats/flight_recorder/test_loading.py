"""The bytes of a dump: plain containers come through, anything else is refused unexecuted."""

import json
import os
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from rankscope.formats.flight_recorder import loading
from rankscope.formats.flight_recorder.loading import LoadError, load

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(PLAIN)
@settings(derandomize=True, max_examples=examples(50))
def test_what_torch_writes_comes_back_as_it_was(value):
    assert value == load(pickle.dumps(value))


def test_json_is_read_too():
    assert {"pg_config": {}} == load(b' {"pg_config": {}}')


class _Hostile:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_that_names_a_callable_is_refused_and_never_called(tmp_path):
    target = tmp_path / "made"
    with pytest.raises(LoadError, match=r"posix\.mkdir: only plain containers"):
        load(pickle.dumps(_Hostile(str(target))))
    assert not target.exists()


@given(st.binary(max_size=200))
@settings(derandomize=True, max_examples=examples(200))
def test_garbage_is_an_error_and_no_crash(body):
    for start in (b"\x80\x02", b"\x80\x04", b"{", b""):
        try:
            load(start + body)
        except LoadError:
            continue


@pytest.mark.parametrize("kept", [1, 2, 10, 40])
def test_a_torn_pickle_says_so(kept):
    body = pickle.dumps({"entries": [{"frames": ["x" * 50]}]})
    with pytest.raises(LoadError, match="torn or foreign"):
        load(body[:kept])


def test_nesting_beyond_all_reason_is_an_error():
    with pytest.raises(LoadError):
        load(b"[" * 200_000)


def test_a_file_that_is_too_large_is_not_loaded(monkeypatch):
    monkeypatch.setattr(loading, "MOST_BYTES", 10)
    with pytest.raises(LoadError, match="more than 10"):
        load(json.dumps({"pg_config": {}}).encode())
