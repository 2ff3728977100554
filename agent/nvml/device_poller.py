"""One device's thread in the worker: asks the subjects that are due and writes their answers."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import SUBJECTS
from .asking import GoneError, PolledDevice
from .pipe import LinePipe
from .subjects import READ


class DevicePoller:
    """Polls one device; `gone`, `unusable` and `back` are written once a change."""

    def __init__(
        self,
        device: PolledDevice,
        *,
        pipe: LinePipe,
        subjects: Sequence[str],
        period: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.device = device
        self._wall = wall
        self._pipe = pipe
        self._period = period
        self._due = dict.fromkeys(subjects, 0.0)
        self._layouts: dict[str, tuple[object, int]] = {}
        self._notes: Mapping[str, str] = {}
        self._gone = False

    def run(self) -> None:
        """Poll for ever; the quickest subject sets the pace."""
        pulse = min(
            (SUBJECTS[subject] or self._period for subject in self._due), default=self._period
        )
        due = time.monotonic()
        while True:
            self.poll(time.monotonic())
            due = max(due + pulse, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def poll(self, now: float) -> None:
        """Ask what is due at a time of any steady clock, in seconds; raises nothing."""
        try:
            self._poll(now)
        except GoneError as error:
            if not self._gone:
                self._pipe.write(gone=error.code, device=self.device.uuid, function=error.function)
            self._gone = True
        except Exception as error:  # noqa: BLE001  one odd answer must not end the device's thread
            self._pipe.write(unusable=f"{type(error).__name__}: {error}", device=self.device.uuid)

    def _poll(self, now: float) -> None:
        device = self.device
        readings: list[list[Any]] = []
        for subject, due in self._due.items():
            if now < due:
                continue
            device.values = {}
            at = self._wall()
            READ[subject](device)
            self._due[subject] = max(due, now - 1.0) + (SUBJECTS[subject] or self._period)
            readings.append([subject, round(at, 3), *self._numbered(subject)])
        if self._gone:
            self._gone = False
            self._pipe.write(back=True, device=device.uuid)
        if readings:
            self._pipe.write(readings=readings, device=device.uuid)
        if device.notes != self._notes:
            self._notes = dict(device.notes)
            self._pipe.write(notes=self._notes, device=device.uuid)

    def _numbered(self, subject: str) -> list[Any]:
        """Return a layout's number and the values, and the layout itself when it is new."""
        values = self.device.values
        series, number = self._layouts.get(subject, (None, 0))
        names = tuple(values)
        if names == series:
            return [number, list(values.values())]
        self._layouts[subject] = (names, number + 1)
        return [number + 1, list(values.values()), names]
