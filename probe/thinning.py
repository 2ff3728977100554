"""Which steps are sent when they are so short that sending each would cost the job.

Sending a step takes this process some 50 us of one core, mostly with the interpreter's lock held.
From 50 steps a second on, only every second, fourth, eighth ... step is sent: by its index, so
that every rank sends the same ones and they can still be compared. A step that stands out (a value
that was not finite, a checkpoint) is always sent.
"""

import statistics
from collections import deque

from .step_record import StepRecord

SHORTEST_SECONDS = 0.02
_SETTLED = 256
"""Steps sent whatever their length: a short run is sent whole."""
_REVIEW = 64
"""Steps between two looks at how long they are."""


class ReportThinning:
    """Decides for one process, in the sender's thread."""

    def __init__(self) -> None:
        self._seen = 0
        self._stride = 1
        self._durations: deque[float] = deque(maxlen=_REVIEW)

    def wanted(self, record: StepRecord) -> bool:
        self._seen += 1
        self._durations.append(record.duration)
        if self._seen >= _SETTLED and self._seen % _REVIEW == 0:
            self._stride = 1
            usual = statistics.median(self._durations)
            while self._stride * usual < SHORTEST_SECONDS and self._stride < 2**16:
                self._stride *= 2
        return record.step % self._stride == 0 or not record.plain()
