"""The datagram between probe and agent: what is encoded is what is decoded."""

import json
import math

from hypothesis import given
from hypothesis import strategies as some

from rankscope.vocabulary.datagram import ProbeDatagram, decode, encode
from rankscope.vocabulary.samples import Event, Sample, TelemetryResource, attributes

scalars = some.one_of(
    some.text(), some.integers(-(2**53), 2**53), some.floats(allow_nan=False), some.booleans()
)
pairs = some.dictionaries(some.text(min_size=1), scalars, max_size=4)
times = some.floats(0, 4e9)
samples = some.builds(Sample, some.text(min_size=1), some.floats(), times, pairs.map(attributes))
events = some.builds(
    Event, some.text(min_size=1), times, pairs, some.just(TelemetryResource(host=""))
)
datagrams = some.builds(
    ProbeDatagram,
    job=some.text(min_size=1),
    attempt=some.none() | some.integers(0, 9),
    rank=some.integers(0, 10**6),
    pid=some.integers(1, 4_000_000),
    number=some.integers(0, 10**9),
    dropped=some.integers(0, 10**9),
    samples=some.lists(samples, max_size=5).map(tuple),
    events=some.lists(events, max_size=3).map(tuple),
    start_time=some.none() | some.integers(0, 4 * 10**9),
    user=some.text(),
)


def spelled(said: ProbeDatagram) -> str:
    """Return the datagram as text in which NaN equals NaN and 1 is not True."""
    return repr(said)


@given(datagrams)
def test_what_is_encoded_decodes_to_the_same(said):
    assert spelled(said) == spelled(decode(encode(said)))


def test_numbers_that_are_equal_keep_their_types():
    for value in (1, True, 1.0):
        said = ProbeDatagram("j", 0, 0, 1, samples=(Sample("m", 1.0, 2.0, (("a", value),)),))
        ((_name, decoded),) = decode(encode(said)).samples[0].attributes
        assert type(value) is type(decoded)


def test_values_that_are_not_finite_travel_as_jsons_common_extension():
    said = ProbeDatagram(
        "j", 0, 0, 1, samples=tuple(Sample("m", v, 1.0) for v in (math.nan, math.inf, -math.inf))
    )
    text = encode(said).decode()
    assert '[["m",NaN,1.0],["m",Infinity,1.0],["m",-Infinity,1.0]]' in text
    assert [1.0] * 3 == [row[2] for row in json.loads(text)["samples"]]


def test_an_attempt_that_nobody_numbers_is_left_out_as_old_agents_read_it():
    body = json.loads(encode(ProbeDatagram("j", None, 0, 1)))
    assert not {"attempt", "start", "user"} & set(body)
    assert 0 == json.loads(encode(ProbeDatagram("j", 0, 0, 1)))["attempt"]


def test_a_datagram_of_an_older_probe_is_read():
    old = (
        b'{"v":1,"job":"j","attempt":2,"rank":3,"pid":4,"n":5,"dropped":0,"samples":[],"events":[]}'
    )
    assert ProbeDatagram("j", 2, 3, 4, number=5) == decode(old)


def test_keys_that_a_newer_probe_adds_are_ignored():
    assert ProbeDatagram("j", 0, 0, 1) == decode(
        b'{"v":1,"job":"j","attempt":0,"rank":0,"pid":1,"later":{"x":[]}}'
    )
