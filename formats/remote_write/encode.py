"""WriteRequests of remote write 1.0, as a Prometheus would send them."""

import struct
from collections.abc import Iterable, Mapping

from .. import wire

_VALUE = wire.tag(1, wire.FIXED64)
_TIME = wire.tag(2, wire.VARINT)


def encoded_labels(labels: Mapping[str, str]) -> bytes:
    """Return a set of labels as the wire has it, sorted by name as the protocol asks."""
    return b"".join(
        wire.block(1, wire.block(1, name.encode()) + wire.block(2, text.encode()))
        for name, text in sorted(labels.items())
        if text
    )


class WriteRequest:
    """Gathers series into one request."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.samples = 0

    def __bool__(self) -> bool:
        """Tell whether there is anything in it."""
        return bool(self.samples)

    def add(self, labels: bytes, samples: Iterable[tuple[int, float]]) -> None:
        """Add a series: its labels as `encoded_labels` writes them, (ms, value) of each sample."""
        for at_ms, value in samples:
            # As Go's protobuf writes it: a zero is left out.
            shown = _VALUE + struct.pack("<d", value) if value or value != value else b""  # noqa: PLR0124
            body = shown + _TIME + wire.signed(at_ms)
            # A series for each sample: a known set of labels with one sample is read fastest, and
            # the journal's compression takes the repetition away.
            self._parts.append(wire.block(1, labels + wire.block(2, body)))
            self.samples += 1

    def body(self) -> bytes:
        """Return the request, not compressed."""
        return b"".join(self._parts)
