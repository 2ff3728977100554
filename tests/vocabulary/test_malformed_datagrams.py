"""Datagrams come from a tenant's process: each mistake has its words, and none its traceback."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.vocabulary.datagram import LARGEST, VERSION, DatagramError, ProbeDatagram, decode

WELL = {"v": VERSION, "job": "run-1", "attempt": 0, "rank": 3, "pid": 42, "n": 7, "dropped": 0,
        "samples": [], "events": []}  # fmt: skip
LEFT_OUT = object()


def body(**changes):
    fields = {key: value for key, value in {**WELL, **changes}.items() if value is not LEFT_OUT}
    return json.dumps(fields).encode()


def test_a_well_formed_one_is_read():
    assert ProbeDatagram("run-1", 0, 3, 42, 7) == decode(body())


def test_only_the_job_is_needed():
    assert ProbeDatagram("run-1", None, 0, 0) == decode(
        json.dumps({"v": VERSION, "job": "run-1"}).encode()
    )


def test_what_a_later_version_adds_is_passed_over():
    assert decode(body()) == decode(body(colour="green"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "not JSON", id="empty"),
        pytest.param(b"\xff\xfe", "not JSON", id="no UTF-8"),
        pytest.param(b'{"v": 1', "not JSON", id="torn"),
        pytest.param(b"[" * 5_000, "not JSON", id="too deep"),
        pytest.param(b"[]", "not a JSON object", id="a list"),
        pytest.param(b"3", "not a JSON object", id="a number"),
        pytest.param(b" " * (LARGEST + 1), f"more than the {LARGEST}", id="too large"),
        pytest.param(body(v=2), "version 2, this agent reads 1", id="another version"),
        pytest.param(body(v=LEFT_OUT), "version None", id="no version"),
        pytest.param(body(job=LEFT_OUT), "job: a non-empty text", id="no job"),
        pytest.param(body(job=""), "job: a non-empty text", id="empty job"),
        pytest.param(body(job=7), "job: a non-empty text", id="job as a number"),
        pytest.param(body(rank=-1), "rank: a whole number from 0", id="negative rank"),
        pytest.param(body(rank="3"), "rank: a whole number from 0", id="rank as a text"),
        pytest.param(body(rank=True), "rank: a whole number from 0", id="rank as a boolean"),
        pytest.param(body(pid=1.5), "pid: a whole number from 0", id="broken pid"),
        pytest.param(body(attempt=None), "attempt: a whole number from 0", id="null attempt"),
        pytest.param(body(n=-3), "n: a whole number from 0", id="negative number"),
        pytest.param(body(dropped="x"), "dropped: a whole number", id="dropped as a text"),
        pytest.param(body(samples={}), "samples: a list is needed", id="samples as an object"),
        pytest.param(body(samples=[3]), "samples: each is [metric", id="a sample as a number"),
        pytest.param(body(samples=[["m", 1]]), "samples: each is [metric", id="a short sample"),
        pytest.param(body(samples=[["m", 1, 2, {}, 4]]), "samples: each", id="a long sample"),
        pytest.param(body(samples=[[1, 1, 2]]), "samples: each is", id="a metric as a number"),
        pytest.param(body(samples=[["m", "1", 2]]), "samples.m: a number", id="a value as a text"),
        pytest.param(body(samples=[["m", True, 2]]), "samples.m: a number", id="a boolean value"),
        pytest.param(body(samples=[["m", 1, None]]), "samples.m: a number", id="no time"),
        pytest.param(body(samples=[["m", 1, 2, []]]), "samples.m: an object", id="pairs as a list"),
        pytest.param(body(samples=[["m", 1, 2, {"a": [1]}]]), "samples.m.a: a text",
                     id="an attribute as a list"),
        pytest.param(body(samples=[["m", 1, 2, {"a": None}]]), "samples.m.a: a text",
                     id="a null attribute"),
        pytest.param(body(events=7), "events: a list is needed", id="events as a number"),
        pytest.param(body(events=[["e", 1]]), "events: each is [name", id="a short event"),
        pytest.param(body(events=[[1, 1, {}]]), "events: each is [name", id="an event's number"),
        pytest.param(body(events=[["e", "now", {}]]), "events.e: a number", id="an event's words"),
        pytest.param(body(events=[["e", 1, "x"]]), "events.e: an object", id="an event's text"),
    ],
)  # fmt: skip
def test_each_mistake_has_its_words(data, words):
    with pytest.raises(DatagramError) as caught:
        decode(data)
    assert words in str(caught.value)


@given(data=st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(DatagramError):
        assert isinstance(decode(data), ProbeDatagram)


WORDS = st.text(max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(changes=st.dictionaries(st.sampled_from(sorted(WELL)), json_values, max_size=4))
def test_any_json_in_any_field_is_read_or_refused(changes):
    with contextlib.suppress(DatagramError):
        assert isinstance(decode(body(**changes)), ProbeDatagram)
