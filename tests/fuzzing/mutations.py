"""Changed inputs: what a tear, a wrong tool or a stranger makes of a valid one."""

import re

from hypothesis import strategies as st

ODD = (
    b"",
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"\xff" * 10,
    b"\r",
    b"\n",
    b"\x1b[31m",
    b"-1",
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 20,
    b"9" * 400,
    b"9" * 5000,
    b"9223372036854775808",
    b"18446744073709551616",
    b"\xd9\xa3",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"true",
    b"\\ud800",
    b"0000-00-00T00:00:00Z",
    b"9999-12-31T23:59:59Z",
    b"0001-01-01T00:00:00+14:00",
    b"[" * 300,
    b"[" * 5000,
    b'{"a":' * 2000,
    b"a" * 9000,
    b" " * 9000,
)
"""What is put into inputs: ends of ranges, of text, of numbers, of dates, of depth."""

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_TEXT = re.compile(rb'"[^"]{0,60}"')
_EDITS = st.lists(
    st.tuples(
        st.sampled_from(["put", "cut", "byte", "number", "value", "twice", "other", "end"]),
        st.floats(0, 1),
        st.integers(0, 255),
        st.sampled_from(ODD),
    ),
    max_size=4,
)


def changed(seeds: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return seeds with up to four changes each."""
    return st.builds(_changed, st.sampled_from(seeds), _EDITS, st.sampled_from(seeds))


def _changed(data: bytes, edits: list[tuple[str, float, int, bytes]], other: bytes) -> bytes:
    for kind, share, byte, odd in edits:
        at = int(share * len(data))
        match kind:
            case "put":
                data = data[:at] + odd + data[at:]
            case "cut":
                data = data[:at] + data[at + byte :]
            case "byte":
                data = data[:at] + bytes((byte,)) + data[at + 1 :]
            case "number":
                data = _instead(_NUMBER, data, share, odd)
            case "value":
                data = _instead(_TEXT, data, share, odd)
            case "twice":
                data = data[:at] + data[at : at + byte] * 9 + data[at:]
            case "other":
                data = data[:at] + other[int(share * len(other)) :]
            case _:
                data = data[:at]
    return data


def _instead(pattern: re.Pattern[bytes], data: bytes, share: float, odd: bytes) -> bytes:
    """Put something odd in the place of one number or text, so that all around it stays whole."""
    found = list(pattern.finditer(data))
    if not found:
        return data
    one = found[int(share * (len(found) - 1))]
    return data[: one.start()] + odd + data[one.end() :]
