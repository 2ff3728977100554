"""Requests made once and sent many times: only times, steps and counters are written anew.

Making a request costs a sender more than the collector spends on it; without this the bench would
measure the sender's patience.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankscope.formats.otlp.columns import SeriesTable
from rankscope.formats.otlp.decode import MetricsDecoder

_COUNTING = {
    "training.step": 1.0,
    "collective.enqueued": 48.0,
    "collective.started": 48.0,
    "collective.completed": 48.0,
    "hw.energy": 665.0,
}
"""By how much a series grows in a step."""
_EIGHT = np.arange(8)


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """One request: its bytes, where its times and values lie, and what grows in a step."""

    points: int
    _body: NDArray[np.uint8]
    _times: NDArray[np.int32]
    _values: NDArray[np.int32]
    _value: NDArray[np.float64]
    _growth: NDArray[np.float64]

    @classmethod
    def of(cls, body: bytes) -> "PreparedRequest":
        """Prepare a request in which every point has a time and a double."""
        table = SeriesTable()
        decoder = MetricsDecoder(table)
        decoder.protobuf(body)
        batch = decoder.protobuf(body)
        if batch.layout is None:
            raise ValueError("a request that takes the general path only")
        points = len(batch.columns)
        slots = batch.layout.slots()
        growth = [
            _COUNTING.get(table[series].metric, 0.0) for series in batch.columns.series.tolist()
        ]
        return cls(
            points,
            np.frombuffer(body, np.uint8),
            slots[:points],
            slots[points : 2 * points],
            batch.columns.value,
            np.array(growth),
        )

    def later(self, steps: int, at: float) -> bytes:
        """Return the request as it would be so many steps later, at a time."""
        body = self._body.copy()
        now = np.array([int(at * 1e9)], "<u8").view(np.uint8)
        body[(self._times[:, None] + _EIGHT)] = now
        value = (self._value + self._growth * steps).astype("<f8")
        body[(self._values[:, None] + _EIGHT)] = value.view(np.uint8).reshape(-1, 8)
        return body.tobytes()
