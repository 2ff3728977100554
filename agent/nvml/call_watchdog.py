"""Watches that calls into the library return, from a thread that makes none."""

import time
from collections.abc import Sequence

from .asking import PolledDevice
from .pipe import LinePipe

_SLOW_SECONDS = 3.0
"""A call that takes longer is reported; hardly any takes 100 ms."""


class CallWatchdog:
    """Writes `hung` while a device's call is out for too long, and `back` when it returned."""

    def __init__(self, pipe: LinePipe, devices: Sequence[PolledDevice]) -> None:
        self._pipe = pipe
        self._devices = devices
        self._hung: set[str] = set()

    def check(self) -> None:
        """Look at each device's call; to be called every second."""
        now = time.monotonic()
        for device in self._devices:
            calling = device.calling
            if calling is not None and now - calling[1] > _SLOW_SECONDS:
                self._hung.add(device.uuid)
                self._pipe.write(
                    hung=round(now - calling[1], 1), device=device.uuid, function=calling[0]
                )
            elif device.uuid in self._hung and (calling is None or now - calling[1] < 1.0):
                self._hung.discard(device.uuid)
                self._pipe.write(back=True, device=device.uuid)
