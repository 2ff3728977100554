"""One device in the worker: the subjects that are due are asked, their answers gathered."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import SUBJECTS
from .asking import GoneError, PolledDevice
from .pipe import LinePipe
from .subjects import READ


class DevicePoller:
    """Polls one device; `gone`, `unusable` and `back` are gathered once a change."""

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
        self._written: dict[str, list[float]] = {}
        self._notes: Mapping[str, str] = {}
        self._gone = False

    @property
    def pulse(self) -> float:
        """Return the seconds from one poll to the next: the quickest subject sets the pace."""
        return min(
            (SUBJECTS[subject] or self._period for subject in self._due), default=self._period
        )

    def poll(self, now: float) -> None:
        """Ask what is due at a time of any steady clock, in seconds; raises nothing."""
        try:
            self._poll(now)
        except GoneError as error:
            if not self._gone:
                self._pipe.gather(gone=error.code, device=self.device.uuid, function=error.function)
            self._gone = True
        except Exception as error:  # noqa: BLE001  one odd answer must not end the device's thread
            self._pipe.gather(unusable=f"{type(error).__name__}: {error}", device=self.device.uuid)

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
            self._pipe.gather(back=True, device=device.uuid)
        if readings:
            self._pipe.gather(readings=readings, device=device.uuid)
        if device.notes != self._notes:
            self._notes = dict(device.notes)
            self._pipe.gather(notes=self._notes, device=device.uuid)

    def _numbered(self, subject: str) -> list[Any]:
        """Return a layout's number and the values, and the layout itself when it is new.

        Values that all are what they were are left out: most of a healthy device's are.
        """
        values = list(self.device.values.values())
        before, self._written[subject] = self._written.get(subject), values
        series, number = self._layouts.get(subject, (None, 0))
        names = tuple(self.device.values)
        if names == series:
            return [number] if values == before else [number, values]
        self._layouts[subject] = (names, number + 1)
        return [number + 1, values, names]
