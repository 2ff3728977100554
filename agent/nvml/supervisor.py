"""Keeps a worker at NVIDIA's library; the agent itself never calls the library.

A worker without a heartbeat, or whose devices all hang, is abandoned and replaced; one whose device
is lost is replaced now and then, since a reset device answers only to a new client.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...vocabulary.samples import Event, Sample
from ..devices import DeviceRegister
from ..health import AgentHealth
from .device_readings import HUNG_SECONDS, SOURCE, DeviceReadings
from .process import WorkerProcess

_HEARTBEAT_TIMEOUT_SECONDS = 6.0
"""Longer without a heartbeat, and the whole worker is stuck; they come every second."""
_OPENING_HUNG_SECONDS = HUNG_SECONDS
"""Opening the library for longer is reported as hung."""
_ALL_HUNG_TIMEOUT_SECONDS = 20.0
"""All devices hung for so long: perhaps a fresh client gets through."""
_LOST_TIMEOUT_SECONDS = 30.0
"""How long a device is lost before a fresh worker looks for it; longer the second time in vain."""
_MOST_LOST_TIMEOUT_SECONDS = 300.0
_ABSENT_SECONDS = 600.0
"""How often a library that is not there is looked for."""
_RETRY_SECONDS = (5.0, 60.0)
_MOST_ABANDONED = 4
"""Workers that may be stuck inside the driver at once; no more are started until one ends."""
_LIBRARY_NOT_FOUND = 12

_log = logging.getLogger(__name__)


class WorkerSupervisor:
    """One for the agent. `check` is to be called every second; the rest from any thread.

    `start` begins a worker and is given what `WorkerProcess` is given.
    """

    def __init__(
        self,
        *,
        subjects: Sequence[str],
        period: float,
        devices: DeviceRegister,
        health: AgentHealth,
        emit: Callable[[Event], None],
        now: Callable[[], float] = time.time,
        start: Callable[..., WorkerProcess] = WorkerProcess,
    ) -> None:
        self._start = start
        self._subjects = tuple(subjects)
        self._period = period
        self._health = health
        self._now = now
        self._lock = threading.Lock()
        self._first_answer = threading.Condition(self._lock)
        self._devices = DeviceReadings(devices=devices, emit=emit, now=now)
        self._worker: WorkerProcess | None = None
        self._abandoned: list[WorkerProcess] = []
        self._driver: str | None = None
        self._reason = ""
        self._start_at = 0.0
        self._started_at = 0.0
        self._checked_at = 0.0
        self._retry = _RETRY_SECONDS[0]
        self._lost_timeout = _LOST_TIMEOUT_SECONDS
        self._opening_hung = False
        self._closed = False

    @property
    def worker_pid(self) -> int | None:
        """Return the process that asks the library now, None when there is none."""
        worker = self._worker
        return worker.pid if worker else None

    def status(self, *, wait: float = 0.0) -> tuple[bool, str]:
        """Return whether there is a library to ask, and why not; `wait` for the first answer."""
        with self._lock:
            self._ensure()
            until = self._started_at + wait  # fifteen readers ask: the wait is one for all
            while self._driver is None and not self._reason and time.monotonic() < until:
                self._first_answer.wait(until - time.monotonic())
            if self._driver is not None:
                return True, f"driver {self._driver}, {len(self._devices)} devices"
            if self._worker is None:
                return False, self._reason or "the worker has not been started"
            return True, "the library has not answered yet"

    def samples(self, subject: str, *, since: float) -> list[Sample]:
        """Return what devices reported about a subject since a time, in the vocabulary's names."""
        with self._lock:
            return self._devices.samples(subject, since=since)

    def notes(self) -> Mapping[str, Mapping[str, str]]:
        """Return by device what has no answer, and why."""
        with self._lock:
            return self._devices.notes()

    def answering(self, now: float) -> Mapping[str, bool]:
        """Return by device, of all ever seen, whether it answers now."""
        with self._lock:
            return self._devices.answering(since=now - 3 * max(self._period, 1.0))

    def answers(self, uuid: str) -> bool:
        """Return whether a device answers now."""
        return self.answering(self._now()).get(uuid, False)

    def metrics(self, uuid: str) -> frozenset[str]:
        """Return the metrics that a device gives, none while it does not answer."""
        if not self.answers(uuid):
            return frozenset()
        with self._lock:
            return self._devices.metrics(uuid)

    def check(self) -> None:
        """Look after the worker: start, replace, abandon; show how old answers are."""
        with self._lock:
            self._abandoned = [worker for worker in self._abandoned if not worker.ended()]
            self._ensure()
            self._check_worker()
            if self._driver is not None:
                self._devices.show_ages(self._health)
            up = self._driver is not None and self._devices.any_works
            if self._worker is not None or up:
                self._health.show("source_up", float(up), SOURCE)

    def close(self) -> None:
        """Ask nothing any more."""
        with self._lock:
            self._closed = True
            if self._worker:
                self._worker.leave()

    def _ensure(self) -> None:
        """Start a worker where there is none and its time has come. Holds the lock."""
        if self._worker or self._closed or time.monotonic() < self._start_at:
            return
        if len(self._abandoned) >= _MOST_ABANDONED:
            return
        self._reason = ""
        self._started_at = time.monotonic()
        try:
            self._worker = self._start(
                subjects=self._subjects, period=self._period, receive=self._receive
            )
        except OSError as error:
            self._reason = f"the worker cannot be started: {error.strerror or error}"
            self._later()

    def _check_worker(self) -> None:
        """Replace a worker that is of no use any more. Holds the lock."""
        worker = self._worker
        if worker is None:
            return
        now = time.monotonic()
        late = now - self._checked_at > _HEARTBEAT_TIMEOUT_SECONDS / 2
        self._checked_at = now
        if late:
            worker.last_received = now  # we were stopped: what it sent waits to be read
        age = now - self._started_at
        if now - worker.last_received > _HEARTBEAT_TIMEOUT_SECONDS:
            self._replace("no heartbeat")
        elif self._driver is None and age > _OPENING_HUNG_SECONDS:
            if not self._opening_hung:
                self._opening_hung = True
                self._devices.opening_hangs(age)
            if age > _ALL_HUNG_TIMEOUT_SECONDS:
                self._replace("the library does not open")
        elif self._driver is not None and len(self._devices):
            if self._devices.all_hung_seconds > _ALL_HUNG_TIMEOUT_SECONDS:
                self._replace("every device's call hangs")
            elif self._devices.any_lost and age > self._lost_timeout:
                self._lost_timeout = min(2 * self._lost_timeout, _MOST_LOST_TIMEOUT_SECONDS)
                self._replace("a device is lost: a fresh client may find it")

    def _replace(self, why: str) -> None:
        worker, self._worker = self._worker, None
        if worker:
            _log.warning("the NVML worker (pid %d) is replaced: %s", worker.pid, why)
            self._health.count("workers_replaced", SOURCE, why.partition(":")[0])
            worker.leave()
            self._abandoned.append(worker)
        self._driver = None
        self._start_at = 0.0

    def _later(self) -> None:
        self._start_at = time.monotonic() + self._retry
        self._retry = min(2 * self._retry, _RETRY_SECONDS[1])

    def _receive(self, worker: WorkerProcess, message: Mapping[str, Any] | None) -> None:
        """Take a message of the worker, on its thread; None: it ended."""
        with self._lock:
            if worker is not self._worker:
                return
            if message is None:
                self._worker, self._driver = None, None
                if not self._reason:
                    _log.warning("the NVML worker ended by itself")
                    self._later()
            elif "readings" in message:
                self._devices.take_readings(message["device"], message["readings"])
            elif "hello" in message:
                self._opened(message["hello"])
            elif "fatal" in message:
                self._refused(int(message["fatal"]), str(message["text"]))
            elif "event" in message:
                self._devices.take_event(message)
            elif "operational" in message:
                self._devices.take_operational(message["device"], message["operational"])
            elif "no_events" in message:
                _log.warning(
                    "no events of %s from NVML: %s", message["device"], message["no_events"]
                )
            elif "unusable" in message:
                self._health.count("reader_failures", SOURCE, "odd_answer")
                _log.warning(
                    "an answer of %s cannot be used: %s", message["device"], message["unusable"]
                )
            else:
                self._devices.take_state(message)

    def _opened(self, hello: Mapping[str, Any]) -> None:
        self._driver = str(hello["driver"])
        self._retry = _RETRY_SECONDS[0]
        self._opening_hung = False
        _log.info("NVML: driver %s, %d devices", hello["driver"], len(hello["devices"]))
        self._devices.listed(hello["devices"], hello["absent"])
        if not self._devices.any_lost:
            self._lost_timeout = _LOST_TIMEOUT_SECONDS
        self._first_answer.notify_all()

    def _refused(self, code: int, text: str) -> None:
        worker, self._worker = self._worker, None
        if worker:
            worker.leave()
        if code == _LIBRARY_NOT_FOUND:
            self._reason = (
                "libnvidia-ml.so.1 is not found: no NVIDIA driver here, or the container was "
                "started without the NVIDIA runtime (NVIDIA_VISIBLE_DEVICES=all)"
            )
            self._start_at = time.monotonic() + _ABSENT_SECONDS
        else:
            self._reason = f"the NVIDIA driver refuses: {text} (NVML error {code})"
            self._later()
            _log.warning("%s", self._reason)
        self._first_answer.notify_all()
