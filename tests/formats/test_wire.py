"""The protobuf wire: what is written is read, and what is no message is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import wire


@given(st.integers(0, 2**64 - 1) | st.integers(0, 40_000))
def test_a_varint_comes_back(number):
    written = wire.varint(number)
    assert wire.read_varint(b"x" + written, 1, 1 + len(written)) == (number, 1 + len(written))


def test_a_negative_number_takes_ten_bytes():
    assert wire.signed(-1) == b"\xff" * 9 + b"\x01"


def test_fields_of_every_wire_type_are_found():
    message = (
        *(wire.tag(1, wire.VARINT), wire.varint(300)),
        wire.block(2, b"ab"),
        *(wire.tag(3, wire.FIXED64), bytes(8)),
        *(wire.tag(4, wire.FIXED32), bytes(4)),
    )
    data = b"".join(message)
    found = [(field, kind, data[a:b]) for field, kind, a, b in wire.fields(data, 0, len(data))]
    assert found == [(1, 0, b"\xac\x02"), (2, 2, b"ab"), (3, 1, bytes(8)), (4, 5, bytes(4))]


@pytest.mark.parametrize(
    "data",
    [
        b"\x80",  # a tag cut off
        b"\x08",  # no varint after its tag
        b"\x08" + b"\xff" * 10 + b"\x01",  # a varint without end
        b"\x0a\x05ab",  # a length beyond the end
        b"\x09\x00",  # a fixed64 cut off
        b"\x0b",  # a group
        b"\x00\x00",  # field number 0
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(wire.WireError):
        list(wire.fields(data, 0, len(data)))
