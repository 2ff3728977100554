"""The clock of the host: how far it is from its time source, as its daemon last set it."""

import ctypes
import os

from ...formats.kernel_clock import KernelTimex
from ...vocabulary.samples import Sample


class ClockOffsetReader:
    """Asks adjtimex without changing anything. A clock that nothing disciplines has no offset."""

    name = "clock"

    def __init__(self, *, period: float) -> None:
        self.period = period
        self._libc = ctypes.CDLL(None, use_errno=True)

    def supported(self) -> tuple[bool, str]:
        """Return whether the call is there; no time source is a reason too."""
        try:
            offset = self._offset()
        except (OSError, AttributeError) as error:
            return False, f"adjtimex: {error}"
        if offset is None:
            return False, "no time source disciplines this clock (is chronyd or ntpd running?)"
        return True, ""

    def read(self, now: float) -> list[Sample]:
        """Return the offset in seconds, nothing while the clock is not synchronised."""
        offset = self._offset()
        return [] if offset is None else [Sample("system.clock.offset", offset, now)]

    def _offset(self) -> float | None:
        timex = KernelTimex()  # modes 0: read only
        if self._libc.adjtimex(ctypes.byref(timex)) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return timex.offset_seconds if timex.synchronised else None
