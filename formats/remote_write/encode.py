"""WriteRequests of remote write 1.0, as a Prometheus would send them."""

import struct
from collections.abc import Mapping

from .. import wire

_SERIES, _SAMPLE = wire.tag(1, wire.LENGTH), wire.tag(2, wire.LENGTH)
_TIME = wire.tag(2, wire.VARINT)
_VALUE = struct.Struct("<sd")
_VALUE_TAG = wire.tag(1, wire.FIXED64)


def encoded_labels(labels: Mapping[str, str]) -> bytes:
    """Return a set of labels as the wire has it, sorted by name as the protocol asks."""
    return b"".join(
        wire.block(1, wire.block(1, name.encode()) + wire.block(2, text.encode()))
        for name, text in sorted(labels.items())
        if text
    )


class WriteRequest:
    """Gathers samples into one request."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._times: dict[int, bytes] = {}
        """As they are written: many series are scraped at the same time."""
        self.samples = 0

    def __bool__(self) -> bool:
        """Tell whether there is anything in it."""
        return bool(self.samples)

    def add(self, labels: bytes, at_ms: int, value: float) -> None:
        """Add a sample, and its labels as `encoded_labels` writes them.

        Each is a series of its own: a known set of labels with one sample is read fastest, and the
        journal's compression takes the repetition away.
        """
        time = self._times.get(at_ms)
        if time is None:
            time = self._times[at_ms] = _TIME + wire.signed(at_ms)
        # As Go's protobuf writes it: a zero is left out.
        body = _VALUE.pack(_VALUE_TAG, value) + time if value or value != value else time  # noqa: PLR0124
        sample = _SAMPLE + wire.varint(len(body)) + body
        self._parts += (_SERIES, wire.varint(len(labels) + len(sample)), labels, sample)
        self.samples += 1

    def body(self) -> bytes:
        """Return the request, not compressed."""
        return b"".join(self._parts)
