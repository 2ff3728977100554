"""The worker process: asks NVIDIA's library, writes what it answers as JSON lines to stdout.

One thread asks all devices in turn and is replaced when a call does not return, so that it costs
that device only; each device has a thread that waits for its events. The main thread never calls
the library: it watches how long calls take, and ends the process when the agent closes its end
(stdin), whatever the library is doing.

Messages, one object a line; the first key is the kind: `hello` (versions, devices) or `fatal`,
once, at the start; `readings` (a device's values by subject: a layout's number, values, and the
layout itself when new; no values where they are what they were); `notes` (functions without an
answer, and why); `gone` and `hung` (a device that fails, a call that does not return); `back` (it
answers again); `unusable` (an answer that made no sense); `event` (NVML's own events), `no_events`
(there are none); `operational` (GPU Operational Events); `heartbeat` every second, with the
readings where there are any.
"""

import contextlib
import json
import os
import select
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pynvml

from . import SUBJECTS, clock_words, operational
from .asking import PolledDevice, code_of
from .call_watchdog import CallWatchdog
from .device_poller import DevicePoller
from .pipe import LinePipe, leave
from .rounds import DeviceRounds
from .subjects.identity import text

HEARTBEAT_SECONDS = 1.0
_WAIT_MILLISECONDS = 10_000
_NICE = 5
_NO_OPERATIONAL = (
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_NO_PERMISSION,
    pynvml.NVML_ERROR_INVALID_ARGUMENT,
)
"""Answers of drivers and devices that have no such events, or give them to nobody like us."""

_EVENTS = {
    pynvml.nvmlEventTypeXidCriticalError: "xid",
    pynvml.nvmlEventTypeDoubleBitEccError: "ecc_uncorrected",
}


def main() -> None:
    """Run until stdin closes. The one argument is JSON: period, subjects, clock_words."""
    asked = json.loads(sys.argv[1])
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    clock_words.tell(asked["clock_words"])
    pipe = LinePipe(sys.stdout.fileno())
    subjects = [name for name in SUBJECTS if name in asked["subjects"]]
    devices: list[PolledDevice] = []
    rounds: list[DeviceRounds] = []  # none until the library is open
    begun = threading.Thread(
        target=_begin, args=(pipe, devices, rounds, subjects, asked["period"]), daemon=True
    )
    begun.start()
    watchdog = CallWatchdog(pipe, devices)
    pause = HEARTBEAT_SECONDS
    while True:
        readable, _, _ = select.select([sys.stdin], [], [], pause)
        if readable and not os.read(0, 1024):
            leave(0)
        silent = pipe.waiting  # no device's readings took the last heartbeat along
        pipe.gather(heartbeat=round(time.time(), 3))
        if silent:
            pipe.flush()
        watchdog.check()
        pause = min([HEARTBEAT_SECONDS, *(one.check() for one in rounds)])


def _begin(
    pipe: LinePipe,
    devices: list[PolledDevice],
    rounds: list[DeviceRounds],
    subjects: Sequence[str],
    period: float,
) -> None:
    """Open the library, and start the threads that call it."""
    try:
        found = opened(pipe)
    except pynvml.NVMLError as error:
        pipe.write(fatal=code_of(error), text=str(error))
        leave(3)
    devices.extend(found)
    pollers = [
        DevicePoller(device, pipe=pipe, subjects=subjects, period=period) for device in found
    ]
    pulse = min((poller.pulse for poller in pollers), default=period)
    heard = [threading.Event() for _ in found]
    for device, known in zip(found, heard, strict=True):
        threading.Thread(target=_watch_events, args=(pipe, device, known), daemon=True).start()
        if operational.supported():
            threading.Thread(target=_watch_operational, args=(pipe, device), daemon=True).start()
    # The library tells no event of before somebody listens: a device that answers is listened to.
    until = time.monotonic() + HEARTBEAT_SECONDS
    for known in heard:
        known.wait(max(0.0, until - time.monotonic()))
    rounds.append(DeviceRounds(pollers, pipe=pipe, pulse=pulse))
    rounds[0].start()


def opened(pipe: LinePipe) -> list[PolledDevice]:
    """Open the library, say which devices it has and return them; raises NVMLError."""
    pynvml.nvmlInit()
    driver = text(pynvml.nvmlSystemGetDriverVersion())
    found, absent = _found(driver)
    pipe.write(
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


def _found(driver: str) -> tuple[list[PolledDevice], list[dict[str, int]]]:
    """Return the devices that answer, and index and error of those that do not."""
    found: list[PolledDevice] = []
    absent: list[dict[str, int]] = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            device = PolledDevice(handle, index=index, uuid=text(pynvml.nvmlDeviceGetUUID(handle)))
            device.kept["driver"] = driver
            device.kept["pci"] = text(pynvml.nvmlDeviceGetPciInfo(handle).busId)
            device.kept["model"] = text(pynvml.nvmlDeviceGetName(handle))
        except pynvml.NVMLError as error:
            absent.append({"index": index, "code": code_of(error)})
            continue
        found.append(device)
    return found, absent


def _watch_events(pipe: LinePipe, device: PolledDevice, known: threading.Event) -> None:
    """Write a device's own events: critical XIDs need no privilege here, unlike the kernel log.

    `known` is set once they are listened to, or it is known that they cannot be. Each device has a
    set of its own, since one lost device makes a whole set fail.
    """
    failure = ""
    while True:
        try:
            for event in _events(device, known):
                failure = ""
                kind = _EVENTS.get(int(event.eventType))
                if kind:
                    pipe.write(
                        event=kind,
                        device=device.uuid,
                        code=int(event.eventData),
                        at=round(time.time(), 3),
                    )
        except pynvml.NVMLError as error:
            known.set()
            if str(error) != failure:
                failure = str(error)
                pipe.write(no_events=failure, device=device.uuid)
            if code_of(error) == pynvml.NVML_ERROR_NOT_SUPPORTED:
                return
        time.sleep(HEARTBEAT_SECONDS)


def _watch_operational(pipe: LinePipe, device: PolledDevice) -> None:
    """Write a device's GPU Operational Events; return where the driver has none."""
    while True:
        try:
            for event in operational.events(device, _WAIT_MILLISECONDS):
                pipe.write(operational=event, device=device.uuid)
        except pynvml.NVMLError as error:
            if code_of(error) in _NO_OPERATIONAL:
                return
        time.sleep(HEARTBEAT_SECONDS)


def _events(device: PolledDevice, known: threading.Event) -> Iterator[Any]:
    """Yield the events of a device until NVML refuses; set `known` once none is missed."""
    supported = int(pynvml.nvmlDeviceGetSupportedEventTypes(device.handle))
    wanted = supported & sum(_EVENTS)
    if not wanted:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    events = pynvml.nvmlEventSetCreate()
    try:
        pynvml.nvmlDeviceRegisterEvents(device.handle, wanted, events)
        known.set()
        while True:
            try:
                yield pynvml.nvmlEventSetWait_v2(events, _WAIT_MILLISECONDS)
            except pynvml.NVMLError as error:
                if code_of(error) != pynvml.NVML_ERROR_TIMEOUT:
                    raise
    finally:
        pynvml.nvmlEventSetFree(events)


if __name__ == "__main__":
    main()
