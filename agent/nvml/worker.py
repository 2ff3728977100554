"""The worker process: asks NVIDIA's library, writes what it answers as JSON lines to stdout.

Each device has a thread that asks and one that waits for its events, so that a call that never
returns costs that device only. The main thread never calls the library: it watches how long calls
take, and ends the process when the agent closes its end (stdin), whatever the library is doing.

Lines, one object each, told apart by their first key:
`hello` (versions, devices) or `fatal`, once, at the start; `turn` (a device's values by subject: a
layout's number and values; a layout is spelt out when it is new); `notes` (functions without an
answer, and why); `gone` and `hung` (a device that fails, a call that does not return); `back` (it
answers again); `failed` (an answer that made no sense); `event` (NVML's own events), `deaf` (there
are none); `beat` every second.
"""

import contextlib
import json
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import pynvml

from . import SUBJECTS
from .asking import Device, GoneError, code_of
from .subjects import READ
from .subjects.identity import text

BEAT_SECONDS = 1.0
_SLOW_SECONDS = 3.0
"""A call that takes longer is told; hardly any takes 100 ms."""
_WAIT_MILLISECONDS = 10_000
_NICE = 5

_EVENTS = {
    pynvml.nvmlEventTypeXidCriticalError: "xid",
    pynvml.nvmlEventTypeDoubleBitEccError: "ecc_uncorrected",
}


class Line:
    """The way to the agent: whole lines, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def say(self, **told: Any) -> None:
        """Write one line; when nobody reads any more, end."""
        data = json.dumps(told, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            while data:
                try:
                    data = data[os.write(self._fd, data) :]
                except BrokenPipeError:
                    _leave(0)


class Turns:
    """One device's thread: asks the subjects that are due, turn after turn."""

    def __init__(
        self,
        device: Device,
        *,
        line: Line,
        subjects: Sequence[str],
        period: float,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.device = device
        self._wall = wall
        self._line = line
        self._period = period
        self._due = dict.fromkeys(subjects, 0.0)
        self._layouts: dict[str, tuple[object, int]] = {}
        self._notes: Mapping[str, str] = {}
        self._gone = False

    def run(self) -> None:
        """Ask for ever; the quickest subject sets the pace."""
        pulse = min(
            (SUBJECTS[subject] or self._period for subject in self._due), default=self._period
        )
        due = time.monotonic()
        while True:
            self.take(time.monotonic())
            due = max(due + pulse, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def take(self, now: float) -> None:
        """Ask what is due at a time of any steady clock, in seconds; raises nothing."""
        try:
            self._turn(now)
        except GoneError as error:
            if not self._gone:
                self._line.say(gone=error.code, device=self.device.uuid, function=error.function)
            self._gone = True
        except Exception as error:  # noqa: BLE001  one odd answer must not end the device's thread
            self._line.say(failed=f"{type(error).__name__}: {error}", device=self.device.uuid)

    def _turn(self, now: float) -> None:
        device = self.device
        told: list[list[Any]] = []
        for subject, due in self._due.items():
            if now < due:
                continue
            device.said = {}
            at = self._wall()
            READ[subject](device)
            self._due[subject] = max(due, now - 1.0) + (SUBJECTS[subject] or self._period)
            told.append([subject, round(at, 3), *self._numbered(subject)])
        if self._gone:
            self._gone = False
            self._line.say(back=True, device=device.uuid)
        if told:
            self._line.say(turn=told, device=device.uuid)
        if device.notes != self._notes:
            self._notes = dict(device.notes)
            self._line.say(notes=self._notes, device=device.uuid)

    def _numbered(self, subject: str) -> list[Any]:
        """Return a layout's number and the values, and the layout itself when it is new."""
        said = self.device.said
        series, number = self._layouts.get(subject, (None, 0))
        names = tuple(said)
        if names == series:
            return [number, list(said.values())]
        self._layouts[subject] = (names, number + 1)
        return [number + 1, list(said.values()), names]


class Calls:
    """Watches that calls return, on the main thread."""

    def __init__(self, line: Line, devices: Sequence[Device]) -> None:
        self._line = line
        self._devices = devices
        self._hung: set[str] = set()

    def check(self) -> None:
        """Say which device's call has been out for too long, while it is; and which came back."""
        now = time.monotonic()
        for device in self._devices:
            calling = device.calling
            if calling is not None and now - calling[1] > _SLOW_SECONDS:
                self._hung.add(device.uuid)
                self._line.say(
                    hung=round(now - calling[1], 1), device=device.uuid, function=calling[0]
                )
            elif device.uuid in self._hung and (calling is None or now - calling[1] < 1.0):
                self._hung.discard(device.uuid)
                self._line.say(back=True, device=device.uuid)


def main() -> None:
    """Run until stdin closes. The one argument is JSON: period, subjects, events."""
    asked = json.loads(sys.argv[1])
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    line = Line(sys.stdout.fileno())
    subjects = [name for name in SUBJECTS if name in asked["subjects"]]
    devices: list[Device] = []
    begun = threading.Thread(
        target=_begin, args=(line, devices, subjects, asked["period"]), daemon=True
    )
    begun.start()
    calls = Calls(line, devices)
    while True:
        readable, _, _ = select.select([sys.stdin], [], [], BEAT_SECONDS)
        if readable and not os.read(0, 1024):
            _leave(0)
        line.say(beat=round(time.time(), 3))
        calls.check()


def _begin(line: Line, devices: list[Device], subjects: Sequence[str], period: float) -> None:
    """Say hello, and start the threads of each device."""
    try:
        found = greet(line)
    except pynvml.NVMLError as error:
        line.say(fatal=code_of(error), text=str(error))
        _leave(3)
    devices.extend(found)
    for device in found:
        turns = Turns(device, line=line, subjects=subjects, period=period)
        threading.Thread(target=turns.run, name=device.uuid, daemon=True).start()
        threading.Thread(target=_listen, args=(line, device), daemon=True).start()


def greet(line: Line) -> list[Device]:
    """Open the library, say which devices it has and return them; raises NVMLError."""
    pynvml.nvmlInit()
    driver = text(pynvml.nvmlSystemGetDriverVersion())
    found, absent = _found(driver)
    line.say(
        hello={
            "driver": driver,
            "nvml": text(pynvml.nvmlSystemGetNVMLVersion()),
            "devices": [
                {
                    "uuid": device.uuid,
                    "index": device.index,
                    "pci": device.kept["pci"],
                    "model": device.kept["model"],
                }
                for device in found
            ],
            "absent": absent,
        }
    )
    return found


def _found(driver: str) -> tuple[list[Device], list[dict[str, int]]]:
    """Return the devices that answer, and index and error of those that do not."""
    found: list[Device] = []
    absent: list[dict[str, int]] = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            device = Device(handle, index=index, uuid=text(pynvml.nvmlDeviceGetUUID(handle)))
            device.kept["driver"] = driver
            device.kept["pci"] = text(pynvml.nvmlDeviceGetPciInfo(handle).busId)
            device.kept["model"] = text(pynvml.nvmlDeviceGetName(handle))
        except pynvml.NVMLError as error:
            absent.append({"index": index, "code": code_of(error)})
            continue
        found.append(device)
    return found, absent


def _listen(line: Line, device: Device) -> None:
    """Say a device's own events: critical XIDs need no privilege here, unlike the kernel log.

    Each device has a set of its own, since one lost device makes a whole set fail.
    """
    said = ""
    while True:
        try:
            for event in _events(device):
                said = ""
                kind = _EVENTS.get(int(event.eventType))
                if kind:
                    line.say(
                        event=kind,
                        device=device.uuid,
                        code=int(event.eventData),
                        at=round(time.time(), 3),
                    )
        except pynvml.NVMLError as error:
            if str(error) != said:
                said = str(error)
                line.say(deaf=said, device=device.uuid)
            if code_of(error) == pynvml.NVML_ERROR_NOT_SUPPORTED:
                return
        time.sleep(BEAT_SECONDS)


def _events(device: Device) -> Iterator[Any]:
    """Yield the events of a device until NVML refuses."""
    supported = int(pynvml.nvmlDeviceGetSupportedEventTypes(device.handle))
    wanted = supported & sum(_EVENTS)
    if not wanted:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    events = pynvml.nvmlEventSetCreate()
    try:
        pynvml.nvmlDeviceRegisterEvents(device.handle, wanted, events)
        while True:
            try:
                yield pynvml.nvmlEventSetWait_v2(events, _WAIT_MILLISECONDS)
            except pynvml.NVMLError as error:
                if code_of(error) != pynvml.NVML_ERROR_TIMEOUT:
                    raise
    finally:
        pynvml.nvmlEventSetFree(events)


def _leave(code: int) -> NoReturn:
    """End at once: a thread inside the library would keep an ordinary end waiting."""
    os._exit(code)


if __name__ == "__main__":
    main()
