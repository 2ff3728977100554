"""Which steps are worth the details of their batches: judged by this rank's own values alone.

A wrong suspicion costs one event, so the limits are low; what they mean is for the collector.
"""

import math
import statistics
from collections import deque

from .step_record import StepRecord

_PAST = 64
_FEWEST = 16
_SIGMAS = 6.0
_LEAST = 0.05
_NORM_TIMES = 3.0
_MAD = 1.4826


class StepSuspicion:
    """Looks at each step once, in the order of steps, when its values are there."""

    def __init__(self) -> None:
        self._loss: deque[float] = deque(maxlen=_PAST)
        self._norm: deque[float] = deque(maxlen=_PAST)

    def reason(self, record: StepRecord) -> str:
        """Return spike, gradient or nonfinite; empty for a step like those before it."""
        loss = record.loss()
        norm = record.values.get(("training.grad_norm", ""), (math.nan, ""))[0]
        found = ""
        if record.finite():
            if self._high(self._norm, norm, _NORM_TIMES):
                found = "gradient"
            if self._spiked(loss):
                found = "spike"
        else:
            found = "nonfinite"
        for past, value in ((self._loss, loss), (self._norm, norm)):
            if math.isfinite(value):
                past.append(value)
        return found

    def _spiked(self, loss: float) -> bool:
        if len(self._loss) < _FEWEST or not math.isfinite(loss):
            return False
        middle = statistics.median(self._loss)
        if loss <= middle + _LEAST * abs(middle):  # as nearly always
            return False
        spread = _MAD * statistics.median(abs(one - middle) for one in self._loss)
        return loss > middle + max(_SIGMAS * spread, _LEAST * abs(middle))

    def _high(self, past: deque[float], value: float, times: float) -> bool:
        if len(past) < _FEWEST or not math.isfinite(value):
            return False
        return value > times * statistics.median(past)
