"""Requests of steady senders as columns: what changes from one to the next, and nothing else.

A steady sender's requests differ in their times and values only, fields of 8 bytes at known places.
The first of a layout in a segment is written whole, with those places (a template); the others as
their fields alone, byte plane by byte plane, which is what makes numbers of one kind compress:
about half the bytes of a compressed request, and less work than compressing it whole. What is read
back is the very request, byte for byte.
"""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...formats.otlp.columns import BodyLayout

_TEMPLATE = struct.Struct("<II")  # number, slots
_COLUMNS = struct.Struct("<I")  # number
_EIGHT = np.arange(8)


class ColumnsError(ValueError):
    """A record of columns that does not fit the template it names."""


@dataclass(frozen=True, slots=True)
class BodyTemplate:
    """A whole request, and the offsets of the 8-byte fields that may differ in others."""

    number: int
    slots: NDArray[np.int32]
    body: bytes

    def pack(self) -> bytes:
        """Return it as the payload of a record; offsets as steps, which repeat."""
        steps = np.diff(self.slots, prepend=np.int32(0)).astype("<i4")
        return _TEMPLATE.pack(self.number, len(self.slots)) + steps.tobytes() + self.body

    @classmethod
    def unpack(cls, payload: bytes) -> "BodyTemplate":
        """Return what `pack` wrote. Raises ColumnsError."""
        try:
            number, count = _TEMPLATE.unpack_from(payload)
            steps = np.frombuffer(payload, "<i4", count, _TEMPLATE.size)
        except (struct.error, ValueError) as error:
            raise ColumnsError(f"no template: {error}") from error
        slots = np.cumsum(steps, dtype=np.int32)
        body = payload[_TEMPLATE.size + steps.nbytes :]
        if count and (slots.min() < 0 or slots.max() > len(body) - 8):
            raise ColumnsError("a template whose fields lie outside its body")
        return cls(number, slots, body)

    def columns(self, body: bytes) -> bytes:
        """Return a request of the same layout as the payload of a record of columns."""
        words = np.ndarray((len(body) - 7,), "<u8", body, 0, (1,))[self.slots]
        planes = words.view(np.uint8).reshape(-1, 8).T
        return _COLUMNS.pack(self.number) + planes.tobytes()

    def restored(self, payload: bytes) -> bytes:
        """Return the request that `columns` was given. Raises ColumnsError."""
        body = np.frombuffer(self.body, np.uint8).copy()
        body[(self.slots[:, None] + _EIGHT).ravel()] = self._planes(payload).T.ravel()
        return body.tobytes()

    def words(self, payload: bytes, which: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the fields at these indices of `slots` in a record of columns.

        Raises ColumnsError.
        """
        chosen = np.ascontiguousarray(self._planes(payload)[:, which].T)
        words: NDArray[np.uint64] = chosen.view("<u8").ravel()
        return words

    def _planes(self, payload: bytes) -> NDArray[np.uint8]:
        planes = np.frombuffer(payload, np.uint8, offset=_COLUMNS.size)
        if len(planes) != 8 * len(self.slots):
            raise ColumnsError("columns of another length than their template's")
        return planes.reshape(8, -1)


def number_of(payload: bytes) -> int:
    """Return the number of the template that a record of columns needs. Raises ColumnsError."""
    try:
        return int(_COLUMNS.unpack_from(payload)[0])
    except struct.error as error:
        raise ColumnsError(f"no columns: {error}") from error


class SegmentTemplates:
    """The templates of the segment that is being written, within a bound of bytes."""

    def __init__(self, *, max_bytes: int = 64 << 20) -> None:
        self._max_bytes = max_bytes
        self._known: dict[bytes, BodyTemplate] = {}
        self._bytes = 0
        self._numbered = 0

    def known(self, layout: BodyLayout) -> BodyTemplate | None:
        return self._known.get(layout.digest)

    def fresh(self, layout: BodyLayout, body: bytes) -> BodyTemplate | None:
        """Return a new template, not yet added, or None where no more fit."""
        if self._bytes + len(body) > self._max_bytes:
            return None
        self._numbered += 1
        return BodyTemplate(self._numbered, layout.slots(), body)

    def add(self, layout: BodyLayout, template: BodyTemplate) -> None:
        """Remember a template that is in the segment now."""
        self._known[layout.digest] = template
        self._bytes += len(template.body)

    def clear(self) -> None:
        """Forget all: another segment begins."""
        self._known.clear()
        self._bytes = 0
