"""What the NVML worker reported of each device: its newest values, and the faults they show.

What a device reported has its time with it: readers take what is fresh and nothing else.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...vocabulary.samples import Attributes, Event, Sample, Scalar, attributes
from ..devices import DeviceRegister, KnownDevice, normal
from ..health import AgentHealth
from .conditions import DeviceConditions, Series
from .driver_words import operational_event

SOURCE = "nvml"
HUNG_SECONDS = 5.0
"""A call that is out for longer is reported as hung."""
_LOST = 15
_GONE = {_LOST: ("nvml.lost", "GPU is lost"), 16: ("nvml.reset_required", "GPU needs a reset")}


@dataclass(slots=True)
class _DeviceState:
    """What is known of one device; `gone` is NVML's error, `hung` seconds of a call that is out."""

    device: KnownDevice
    conditions: DeviceConditions
    answered_at: float = 0.0
    readings: dict[str, tuple[float, list[float]]] = field(default_factory=dict)
    layouts: dict[str, tuple[int, list[Series]]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    gone: int | None = None
    hung: float | None = None
    hung_reported: bool = False

    @property
    def works(self) -> bool:
        """Return whether it is neither gone nor hung."""
        return self.gone is None and not self.hung_reported

    def values(self, subject: str) -> list[float] | None:
        """Return the newest values of a subject, None where there are none."""
        reading = self.readings.get(subject)
        return None if reading is None else reading[1]


class DeviceReadings:
    """The devices of one driver. Its owner holds the lock; `emit` takes a fault's event."""

    def __init__(
        self, *, devices: DeviceRegister, emit: Callable[[Event], None], now: Callable[[], float]
    ) -> None:
        self._devices = devices
        self._emit = emit
        self._now = now
        self._states: dict[str, _DeviceState] = {}
        self._absent: Sequence[Mapping[str, int]] = ()

    def __len__(self) -> int:
        """Return how many devices are known."""
        return len(self._states)

    @property
    def any_works(self) -> bool:
        """Return whether any device is neither gone nor hung."""
        return any(state.works for state in self._states.values())

    @property
    def any_lost(self) -> bool:
        """Return whether a device is gone, or did not answer when the driver listed it."""
        return bool(self._absent) or any(one.gone is not None for one in self._states.values())

    @property
    def all_hung_seconds(self) -> float:
        """Return for how long every device's call has been out, 0 when one is not."""
        return min((state.hung or 0.0 for state in self._states.values()), default=0.0)

    def samples(self, subject: str, *, since: float) -> list[Sample]:
        """Return what devices reported about a subject since a time, in the vocabulary's names."""
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
        return {uuid: dict(state.notes) for uuid, state in self._states.items()}

    def answering(self, *, since: float) -> dict[str, bool]:
        """Return by device, of all ever seen, whether it works and answered since a time."""
        known = {device.hw_id: False for device in self._devices.natives("nvidia")}
        for uuid, state in self._states.items():
            known[uuid] = state.works and state.answered_at >= since
        return known

    def metrics(self, uuid: str) -> frozenset[str]:
        state = self._states.get(uuid)
        layouts: Iterable[tuple[int, list[Series]]] = state.layouts.values() if state else ()
        return frozenset(metric for _, names in layouts for metric, _ in names)

    def show_ages(self, health: AgentHealth) -> None:
        """Show how old each device's last answer is."""
        for uuid, state in self._states.items():
            if state.answered_at:
                health.show("device_last_success_age_seconds", state.answered_at, SOURCE, uuid)

    def listed(
        self, rows: Sequence[Mapping[str, Any]], absent: Sequence[Mapping[str, int]]
    ) -> None:
        """Take the driver's list of devices, and of those that did not answer it."""
        before, self._states = self._states, {}
        for row in rows:
            device = KnownDevice(
                row["uuid"], row["index"], normal(row["pci"]), "nvidia", row["model"]
            )
            self._devices.note(device)
            state = self._states[device.hw_id] = self._new(device)
            if known := before.get(device.hw_id):  # what was reported of it is not reported again
                state.conditions = known.conditions
                state.gone, state.hung_reported = known.gone, known.hung_reported
        indices = {row["index"] for row in absent}
        for uuid, state in before.items():
            if uuid == f"index-{state.device.index}" and state.device.index not in indices:
                continue  # it has given its name by now: it is another state's
            if uuid not in self._states:  # not even listed any more
                self._states[uuid] = state
                state.readings.clear()
                if state.gone is None:
                    self._gone(state, _LOST, "it is not among the driver's devices any more")
        self._absent = absent
        self._report_missing()

    def take_readings(self, uuid: str, readings: Sequence[Sequence[Any]]) -> None:
        """Take a device's values by subject: [subject, at, layout's number, values?, layout?].

        Without values they are what they were.
        """
        state = self._states.get(uuid)
        if state is None:
            return
        for subject, at, number, *found in readings:
            if len(found) > 1:
                names = [(metric, _full(state.device, pairs)) for metric, pairs in found[1]]
                state.layouts[subject] = (number, names)
                state.readings.pop(subject, None)
            known = state.layouts.get(subject)
            values = found[0] if found else state.values(subject)
            if known is None or known[0] != number or values is None:
                continue
            state.readings[subject] = (at, values)
            state.answered_at = at  # not the newest ever: clocks are set back
            state.gone, state.hung, state.hung_reported = None, None, False
            state.conditions.take(subject, at, known[1], values)

    def take_state(self, message: Mapping[str, Any]) -> None:
        """Take what the worker reports of one device's functions: notes, gone, hung or back."""
        state = self._states.get(message.get("device", ""))
        if state is None:
            return
        if "notes" in message:
            state.notes = message["notes"]
        elif "gone" in message:
            self._gone(state, int(message["gone"]), f"by {message['function']}")
        elif "hung" in message:
            state.hung = float(message["hung"])
            if state.hung >= HUNG_SECONDS and not state.hung_reported:
                state.hung_reported = True
                text = f"{message['function']} does not return for {state.hung:.0f} s"
                self._fault(state.device, "nvml.hung", text, self._now() - state.hung)
        elif "back" in message:
            state.gone, state.hung, state.hung_reported = None, None, False

    def take_event(self, message: Mapping[str, Any]) -> None:
        """Take an event of NVML's own.

        An uncorrectable error is reported by its counter, with where it happened: see Conditions.
        """
        state = self._states.get(message["device"])
        if state is not None and message["event"] == "xid":
            code = int(message["code"])
            self._fault(state.device, str(code), f"XID {code} by NVML's events", message["at"])

    def take_operational(self, uuid: str, found: Mapping[str, Any]) -> None:
        """Take a GPU Operational Event: evidence of cause and effect, beside the XID itself."""
        state = self._states.get(uuid)
        if state is not None:
            self._emit(operational_event(state.device, found))

    def opening_hangs(self, seconds: float) -> None:
        """Report every known device as hung: opening the library has not returned for so long."""
        text = f"the NVIDIA driver answers nobody: opening its library hangs for {seconds:.0f} s"
        for device in self._devices.natives("nvidia"):
            state = self._states.setdefault(device.hw_id, self._new(device))
            if not state.hung_reported:
                state.hung_reported = True
                self._fault(device, "nvml.hung", text, self._now() - seconds)

    def _report_missing(self) -> None:
        """Report devices known from before the agent's start that are not there now."""
        for device in self._devices.natives("nvidia"):
            if device.hw_id not in self._states:
                state = self._states[device.hw_id] = self._new(device)
                self._gone(state, _LOST, "it was here when the agent last ran")
        known = {state.device.index for state in self._states.values() if state.gone is not None}
        for row in self._absent:
            if row["index"] not in known:  # it has not even given its name
                device = KnownDevice(f"index-{row['index']}", row["index"])
                state = self._states[device.hw_id] = self._new(device)
                self._gone(state, row["code"], "it did not answer when the driver listed it")

    def _new(self, device: KnownDevice) -> _DeviceState:
        return _DeviceState(
            device, DeviceConditions(lambda code, text, at: self._fault(device, code, text, at))
        )

    def _gone(self, state: _DeviceState, code: int, how: str) -> None:
        if state.gone == code:
            return
        state.gone = code
        name, text = _GONE.get(code, (f"nvml.{code}", f"NVML error {code}"))
        self._fault(state.device, name, f"{text}, {how}", self._now())

    def _fault(self, device: KnownDevice, code: str, text: str, at: float) -> None:
        pairs: dict[str, Scalar] = {
            "hw.id": device.hw_id,
            "gpu": device.index,
            "code": code,
            "vendor": "nvidia",
            "source": SOURCE,
            "text": f"GPU {device.index}: {text}",
        }
        self._emit(Event("gpu.fault", at, pairs))


def _full(device: KnownDevice, pairs: Sequence[Sequence[Scalar]]) -> Attributes:
    named = {str(name): value for name, value in pairs}
    return attributes({**named, "hw.id": device.hw_id, "gpu": device.index, "hw.vendor": "nvidia"})
