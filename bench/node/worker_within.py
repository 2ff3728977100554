"""The worker that asks the driver's library, within the process of who made it: no process waits.

Its turns are taken when told, at the time of a clock that stands until it is told to go on.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from rankscope.agent.nvml import SUBJECTS, call_watchdog, device_poller, pipe
from rankscope.agent.nvml import worker as nvml_worker
from rankscope.agent.nvml.process import WorkerProcess
from rankscope.lab.node import nvml

_EAGER = "RANKSCOPE_NVML_STUB_EAGER"

Report = Mapping[str, Any]


class ToldClock:
    """A clock that stands until it is told to go on. Seconds since the epoch."""

    def __init__(self, at: float) -> None:
        self.at = at

    def now(self) -> float:
        return self.at


def under_stub(module: str, arguments: Sequence[str]) -> None:
    """See to it that this process finds the stub where a driver's library would be.

    The loader reads its path at a process's start only: without it, start again, with it.
    """
    if os.environ.get(_EAGER) is None:
        _again(module, arguments)


def _again(module: str, arguments: Sequence[str]) -> NoReturn:
    paths = f"{nvml.library()}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    environ = {**os.environ, "LD_LIBRARY_PATH": paths, _EAGER: "1", "MALLOC_ARENA_MAX": "2"}
    os.execve(sys.executable, [sys.executable, "-m", module, *arguments], environ)  # noqa: S606


class WorkerWithin(WorkerProcess):
    """The worker's turns, taken in this process when told; its lines go through JSON all the same.

    Not a process: `begin` is called once the supervisor has it, since its first line answers that.
    """

    def __init__(
        self,
        *,
        subjects: Sequence[str],
        period: float,
        receive: Callable[[WorkerProcess, Report | None], None],
        clock: ToldClock,
    ) -> None:
        self.pid = os.getpid()
        self.last_received = time.monotonic()
        self.over = False
        self.begun = False
        self.mute: set[str] = set()
        """Devices whose turns do not come to an end."""
        self.lines: list[bytes] = []
        """What it said last, as it would be on the pipe."""
        self._within = receive
        self._subjects = [name for name in SUBJECTS if name in subjects]
        self._period = period
        self._clock = clock
        self._pipe = _InnerPipe(self)
        self._turns: list[device_poller.DevicePoller] = []
        self.calls = call_watchdog.CallWatchdog(self._pipe, ())

    def begin(self) -> None:
        """Open the library and say hello."""
        self.begun = True
        devices = nvml_worker.opened(self._pipe)
        self.calls = call_watchdog.CallWatchdog(self._pipe, devices)
        self._turns = [
            device_poller.DevicePoller(
                device,
                pipe=self._pipe,
                subjects=self._subjects,
                period=self._period,
                wall=self._clock.now,
            )
            for device in devices
        ]

    def turn(self) -> None:
        """Ask every device what is due at the clock's time."""
        self.lines.clear()
        for turns in self._turns:
            if turns.device.uuid not in self.mute:
                turns.poll(self._clock.now())

    def write(self, **message: Any) -> None:
        """Say a line, as the worker would."""
        self.replay(json.dumps(message, separators=(",", ":")).encode())

    def replay(self, line: bytes) -> None:
        """Let the supervisor hear a line."""
        if not self.over:
            self.last_received = time.monotonic()
            self.lines.append(line)
            self._within(self, json.loads(line))

    def leave(self) -> None:
        """Say no more."""
        self.over = True

    def ended(self) -> bool:
        """Tell whether it was left."""
        return self.over


class _InnerPipe(pipe.LinePipe):
    def __init__(self, worker: WorkerWithin) -> None:
        self._worker = worker

    def write(self, **message: Any) -> None:
        self._worker.write(**message)

    gather = write
