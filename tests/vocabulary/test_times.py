"""Times as people and programs exchange them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.vocabulary.clock import SystemClock
from rankscope.vocabulary.times import parse, rfc3339


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000.25, "2023-11-14T22:13:20.250Z"),
        (1_700_000_000.0004, "2023-11-14T22:13:20.000Z"),
        (1_700_000_000.9996, "2023-11-14T22:13:21.000Z"),
    ],
)
def test_times_go_out_as_rfc_3339_in_utc_to_the_millisecond(at, text):
    assert text == rfc3339(at)


@pytest.mark.parametrize(
    "text",
    ["1700000000.25", "2023-11-14T22:13:20.250Z", "2023-11-14T22:13:20.25+00:00",
     "2023-11-15T06:13:20.250+08:00", "2023-11-14T22:13:20.250", "2023-11-14 22:13:20.250"],
)  # fmt: skip
def test_times_come_in_as_rfc_3339_or_epoch_seconds(text):
    assert 1_700_000_000.25 == parse(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2023-13-01T00:00:00Z", "22:13"])
def test_anything_else_is_refused_by_name(text):
    with pytest.raises(ValueError, match="neither RFC 3339 nor epoch seconds") as caught:
        parse(text)
    assert repr(text) in str(caught.value)


@given(at=st.floats(0, 4e9))
def test_what_goes_out_comes_back_to_the_millisecond(at):
    assert parse(rfc3339(at)) == pytest.approx(at, abs=0.00051)


def test_the_machines_clock_does_not_go_back_between_two_looks():
    clock = SystemClock()
    assert 1.6e9 < clock.now() <= clock.now()
