"""Keeps a worker at NVIDIA's library, and what it said; the agent itself never calls the library.

A worker that says nothing, or whose devices all hang, is left behind and replaced; one whose
device is lost is replaced now and then, since a reset device answers only to a new client. What a
device said has its time with it: readers take what is fresh and nothing else.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.samples import Attributes, Event, Sample, Scalar, attributes
from ..devices import Device, Devices, normal
from ..health import Health
from .conditions import Conditions, Series
from .process import Worker

SOURCE = "nvml"
_SILENT_SECONDS = 6.0
"""Longer without a beat, and the whole worker is stuck; beats come every second."""
_HUNG_SECONDS = 5.0
"""A call that is out for longer is told as hung."""
_ALL_HUNG_SECONDS = 20.0
"""All devices hung for so long: perhaps a fresh client gets through."""
_LOST_SECONDS = 30.0
"""How long a device is lost before a fresh worker looks for it; longer the second time in vain."""
_MOST_LOST_SECONDS = 300.0
_ABSENT_SECONDS = 600.0
"""How often a library that is not there is looked for."""
_RETRY_SECONDS = (5.0, 60.0)
_LEFT_BEHIND = 4
"""Workers that may be stuck inside the driver at once; no more are started until one ends."""
_GONE = {15: ("nvml.lost", "GPU is lost"), 16: ("nvml.reset_required", "GPU needs a reset")}
_LIBRARY_NOT_FOUND = 12

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _State:
    """What is known of one device."""

    device: Device
    conditions: Conditions
    answered_at: float = 0.0
    readings: dict[str, tuple[float, list[float]]] = field(default_factory=dict)
    layouts: dict[str, tuple[int, list[Series]]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    gone: int | None = None
    hung: float | None = None
    hung_told: bool = False


class Supervisor:
    """One for the agent. `check` is to be called every second; the rest from any thread.

    `start` begins a worker and is given what `Worker` is given.
    """

    def __init__(
        self,
        *,
        subjects: Sequence[str],
        period: float,
        devices: Devices,
        health: Health,
        tell: Callable[[Event], None],
        now: Callable[[], float] = time.time,
        start: Callable[..., Worker] = Worker,
    ) -> None:
        self._start = start
        self._subjects = tuple(subjects)
        self._period = period
        self._devices = devices
        self._health = health
        self._tell = tell
        self._now = now
        self._lock = threading.Lock()
        self._greeted = threading.Condition(self._lock)
        self._worker: Worker | None = None
        self._left: list[Worker] = []
        self._states: dict[str, _State] = {}
        self._absent: list[Mapping[str, int]] = []
        self._hello: Mapping[str, Any] | None = None
        self._reason = ""
        self._start_at = 0.0
        self._started_at = 0.0
        self._judged_at = 0.0
        self._retry = _RETRY_SECONDS[0]
        self._lost_patience = _LOST_SECONDS
        self._init_hung_told = False
        self._closed = False

    @property
    def worker_pid(self) -> int | None:
        """Return the process that asks the library now, None when there is none."""
        worker = self._worker
        return worker.pid if worker else None

    def status(self, *, wait: float = 0.0) -> tuple[bool, str]:
        """Tell whether there is a library to ask, and why not; wait for the first word if asked."""
        with self._lock:
            self._ensure()
            until = self._started_at + wait  # fifteen readers ask: the wait is one for all
            while self._hello is None and not self._reason and time.monotonic() < until:
                self._greeted.wait(until - time.monotonic())
            if self._hello is not None:
                return True, f"driver {self._hello['driver']}, {len(self._states)} devices"
            if self._worker is None:
                return False, self._reason or "the worker has not been started"
            return True, "the library has not answered yet"

    def samples(self, subject: str, *, since: float) -> list[Sample]:
        """Return what devices said about a subject since a time, in the vocabulary's words."""
        with self._lock:
            found = []
            for state in self._states.values():
                reading = state.readings.get(subject)
                if reading is None or reading[0] < since:
                    continue
                at, values = reading
                names = state.layouts[subject][1]
                found += [
                    Sample(metric, value, at, pairs)
                    for (metric, pairs), value in zip(names, values, strict=True)
                ]
        return found

    def notes(self) -> Mapping[str, Mapping[str, str]]:
        """Return by device what has no answer, and why."""
        with self._lock:
            return {uuid: dict(state.notes) for uuid, state in self._states.items()}

    def answering(self, now: float) -> Mapping[str, bool]:
        """Return by device, of all ever seen, whether it answers now."""
        with self._lock:
            fresh = now - 3 * max(self._period, 1.0)
            known = {device.hw_id: False for device in self._devices.natives("nvidia")}
            for uuid, state in self._states.items():
                known[uuid] = (
                    state.gone is None and not state.hung_told and state.answered_at >= fresh
                )
            return known

    def answers(self, uuid: str) -> bool:
        """Tell whether a device answers now."""
        return self.answering(self._now()).get(uuid, False)

    def tells(self, uuid: str) -> frozenset[str]:
        """Return the metrics that a device gives, none while it does not answer."""
        if not self.answers(uuid):
            return frozenset()
        with self._lock:
            state = self._states.get(uuid)
            layouts = state.layouts.values() if state else ()
            return frozenset(metric for _, names in layouts for metric, _ in names)

    def check(self) -> None:
        """Look after the worker: start, replace, leave behind; show how old answers are."""
        with self._lock:
            self._left = [worker for worker in self._left if not worker.ended()]
            self._ensure()
            self._judge_worker()
            if self._hello is not None:
                for uuid, state in self._states.items():
                    if state.answered_at:
                        self._health.show(
                            "device_last_success_age_seconds", state.answered_at, SOURCE, uuid
                        )
            up = self._hello is not None and any(
                state.gone is None and not state.hung_told for state in self._states.values()
            )
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
        if len(self._left) >= _LEFT_BEHIND:
            return
        self._reason = ""
        self._started_at = time.monotonic()
        try:
            self._worker = self._start(
                subjects=self._subjects, period=self._period, hear=self._hear
            )
        except OSError as error:
            self._reason = f"the worker cannot be started: {error.strerror or error}"
            self._later()

    def _judge_worker(self) -> None:
        """Leave a worker behind that is of no use any more. Holds the lock."""
        worker = self._worker
        if worker is None:
            return
        now = time.monotonic()
        late, self._judged_at = now - self._judged_at > _SILENT_SECONDS / 2, now
        if late:
            worker.heard_at = now  # it was us who were stopped: what it said waits to be read
        age = now - self._started_at
        if now - worker.heard_at > _SILENT_SECONDS:
            self._replace("it says nothing")
        elif self._hello is None and age > _HUNG_SECONDS:
            self._tell_init_hung(age)
            if age > _ALL_HUNG_SECONDS:
                self._replace("the library does not open")
        elif self._hello is not None and self._states:
            hung = [state.hung or 0.0 for state in self._states.values()]
            lost = any(state.gone is not None for state in self._states.values()) or self._absent
            if min(hung) > _ALL_HUNG_SECONDS:
                self._replace("every device's call hangs")
            elif lost and age > self._lost_patience:
                self._lost_patience = min(2 * self._lost_patience, _MOST_LOST_SECONDS)
                self._replace("a device is lost: a fresh client may find it")

    def _tell_init_hung(self, age: float) -> None:
        if self._init_hung_told:
            return
        self._init_hung_told = True
        text = f"the NVIDIA driver answers nobody: opening its library hangs for {age:.0f} s"
        for device in self._devices.natives("nvidia"):
            state = self._states.setdefault(device.hw_id, _State(device, self._conditions(device)))
            if not state.hung_told:
                state.hung_told = True
                self._fault(device, "nvml.hung", text, self._now() - age)

    def _replace(self, why: str) -> None:
        worker, self._worker = self._worker, None
        if worker:
            _log.warning("the NVML worker (pid %d) is replaced: %s", worker.pid, why)
            self._health.count("workers_replaced", SOURCE, why.partition(":")[0])
            worker.leave()
            self._left.append(worker)
        self._hello = None
        self._start_at = 0.0

    def _later(self) -> None:
        self._start_at = time.monotonic() + self._retry
        self._retry = min(2 * self._retry, _RETRY_SECONDS[1])

    def _hear(self, worker: Worker, told: Mapping[str, Any] | None) -> None:
        """Take a line of the worker, on its thread; None: it ended."""
        with self._lock:
            if worker is not self._worker:
                return
            if told is None:
                self._worker, self._hello = None, None
                if not self._reason:
                    _log.warning("the NVML worker ended by itself")
                    self._later()
            elif "turn" in told:
                self._take_turn(told["device"], told["turn"])
            elif "hello" in told:
                self._greet(told["hello"])
            elif "fatal" in told:
                self._refused(int(told["fatal"]), str(told["text"]))
            elif "event" in told:
                self._take_event(told)
            elif "deaf" in told:
                _log.warning("no events of %s from NVML: %s", told["device"], told["deaf"])
            elif "failed" in told:
                self._health.count("reader_failures", SOURCE, "odd_answer")
                _log.warning("an answer of %s made no sense: %s", told["device"], told["failed"])
            elif state := self._states.get(told.get("device", "")):
                self._take_state(state, told)

    def _greet(self, hello: Mapping[str, Any]) -> None:
        before = self._states
        self._states = {}
        for row in hello["devices"]:
            device = Device(row["uuid"], row["index"], normal(row["pci"]), "nvidia", row["model"])
            self._devices.note(device)
            state = self._states[device.hw_id] = _State(device, self._conditions(device))
            if known := before.get(device.hw_id):  # what was told of it is not told again
                state.conditions = known.conditions
                state.gone, state.hung_told = known.gone, known.hung_told
        absent = {row["index"] for row in hello["absent"]}
        for uuid, state in before.items():
            if uuid == f"index-{state.device.index}" and state.device.index not in absent:
                continue  # it has told its name by now: it is another state's
            if uuid not in self._states:  # not even listed any more
                self._states[uuid] = state
                state.readings.clear()
                if state.gone is None:
                    self._gone(state, 15, "it is not among the driver's devices any more")
        self._absent = hello["absent"]
        self._hello = hello
        self._retry = _RETRY_SECONDS[0]
        self._init_hung_told = False
        if not self._absent and all(state.gone is None for state in self._states.values()):
            self._lost_patience = _LOST_SECONDS
        _log.info("NVML: driver %s, %d devices", hello["driver"], len(hello["devices"]))
        self._tell_missing()
        self._greeted.notify_all()

    def _tell_missing(self) -> None:
        """Tell of devices known from before the agent's start that are not there now."""
        for device in self._devices.natives("nvidia"):
            if device.hw_id not in self._states:
                state = _State(device, self._conditions(device))
                self._states[device.hw_id] = state
                self._gone(state, 15, "it was here when the agent last ran")

        known = {state.device.index for state in self._states.values() if state.gone is not None}
        for row in self._absent:
            if row["index"] not in known:  # it has not even told its name
                device = Device(f"index-{row['index']}", row["index"])
                self._states[device.hw_id] = state = _State(device, self._conditions(device))
                self._gone(state, row["code"], "it did not answer when the driver listed it")

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
        self._greeted.notify_all()

    def _take_turn(self, uuid: str, turn: Sequence[Sequence[Any]]) -> None:
        state = self._states.get(uuid)
        if state is None:
            return
        for subject, at, number, values, *spelt in turn:
            if spelt:
                names = [(metric, self._full(state.device, pairs)) for metric, pairs in spelt[0]]
                state.layouts[subject] = (number, names)
            known = state.layouts.get(subject)
            if known is None or known[0] != number:
                continue
            state.readings[subject] = (at, values)
            state.answered_at = at  # not the newest ever: clocks are set back
            state.gone, state.hung, state.hung_told = None, None, False
            state.conditions.take(subject, at, known[1], values)

    def _full(self, device: Device, pairs: Sequence[Sequence[Scalar]]) -> Attributes:
        named = {str(name): value for name, value in pairs}
        return attributes(
            {**named, "hw.id": device.hw_id, "gpu": device.index, "hw.vendor": "nvidia"}
        )

    def _take_state(self, state: _State, told: Mapping[str, Any]) -> None:
        if "notes" in told:
            state.notes = told["notes"]
        elif "gone" in told:
            self._gone(state, int(told["gone"]), f"by {told['function']}")
        elif "hung" in told:
            state.hung = float(told["hung"])
            if state.hung >= _HUNG_SECONDS and not state.hung_told:
                state.hung_told = True
                text = f"{told['function']} does not return for {state.hung:.0f} s"
                self._fault(state.device, "nvml.hung", text, self._now() - state.hung)
        elif "back" in told:
            state.gone, state.hung, state.hung_told = None, None, False

    def _gone(self, state: _State, code: int, how: str) -> None:
        if state.gone == code:
            return
        state.gone = code
        name, text = _GONE.get(code, (f"nvml.{code}", f"NVML error {code}"))
        self._fault(state.device, name, f"{text}, {how}", self._now())

    def _take_event(self, told: Mapping[str, Any]) -> None:
        state = self._states.get(told["device"])
        if state is None:
            return
        if told["event"] == "xid":
            code = int(told["code"])
            self._fault(state.device, str(code), f"XID {code} by NVML's events", told["at"])
        # An uncorrectable error is told by its counter, with where it happened: see Conditions.

    def _conditions(self, device: Device) -> Conditions:
        return Conditions(lambda code, text, at: self._fault(device, code, text, at))

    def _fault(self, device: Device, code: str, text: str, at: float) -> None:
        self._tell(
            Event(
                "gpu.fault",
                at,
                {
                    "hw.id": device.hw_id,
                    "gpu": device.index,
                    "code": code,
                    "vendor": "nvidia",
                    "source": SOURCE,
                    "text": f"GPU {device.index}: {text}",
                },
            )
        )
