"""New faults out of an exporter's gauges and counters: each is told once.

Exporters show faults as state, not as events: the last code stays for weeks, a count stands where
it stood. What was there when we first looked is therefore no news, unless the vendor says that it
is wrong now (`present`). `state` keeps what was known from one start of the agent to the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...vocabulary.samples import Event, attributes
from .binding import FaultBinding
from .devices import Device

_SAME_SECONDS = 120.0
"""One fault told in two ways (last code and count) within this time is one."""
_GONE_PAGES = 2
"""Pages without a code until it counts as over: one may be cut short."""
_MOST = 512
"""Codes remembered of one exporter."""

Key = tuple[str, str]


@dataclass(slots=True)
class _Present:
    missing: int = 0


@dataclass(slots=True)
class FaultWatch:
    """The faults of one exporter. Not for two threads at once."""

    exporter: str
    vendor: str
    _last: dict[str, float] = field(default_factory=dict)
    _counts: dict[Key, float] = field(default_factory=dict)
    _present: dict[Key, _Present] = field(default_factory=dict)
    _told: dict[Key, tuple[str, float]] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)

    def see(
        self,
        readings: Iterable[tuple[FaultBinding, float]],
        devices: Iterable[Device],
        *,
        at: float,
    ) -> list[Event]:
        """Take what a page said; return the new faults.

        `devices` are those the page spoke of: a code is over when its device speaks without it.
        """
        found: list[tuple[Device, str, str, int]] = []
        now_present: set[Key] = set()
        for binding, value in readings:
            hw_id = binding.device.hw_id
            code = binding.spelled(value)
            key = (hw_id, code)
            if binding.kind == "present":
                if value != 0:
                    now_present.add(key)
                    if key not in self._present and len(self._present) < _MOST:
                        self._present[key] = _Present()
                        found.append((binding.device, code, "present", 1))
            elif binding.kind == "last":
                before = self._last.get(hw_id)
                self._last[hw_id] = value
                if value not in (0, before) and self._is_news(hw_id, before):
                    found.append((binding.device, code, "last", 1))
            elif key in self._counts or len(self._counts) < _MOST:
                before = self._counts.get(key)
                self._counts[key] = value
                more = int(value - (before or 0.0))
                if more > 0 and self._is_news(hw_id, before):
                    found.append((binding.device, code, binding.kind, more))
        spoke = {device.hw_id: device for device in devices}
        self._forget(now_present, spoke)
        self._started.update(spoke)
        return [event for one in found if (event := self._event(*one, at)) is not None]

    def _is_news(self, hw_id: str, before: float | None) -> bool:
        """Tell whether a code or count is new: not when the device itself is seen first."""
        return before is not None or hw_id in self._started

    def _forget(self, now_present: set[Key], spoke: Mapping[str, Device]) -> None:
        for key, present in list(self._present.items()):
            if key in now_present:
                present.missing = 0
            elif key[0] in spoke:
                present.missing += 1
                if present.missing >= _GONE_PAGES:
                    del self._present[key]

    def _event(self, device: Device, code: str, kind: str, count: int, at: float) -> Event | None:
        key = (device.hw_id, code)
        told = self._told.get(key)
        if told is not None and told[0] != kind and at - told[1] <= _SAME_SECONDS:
            return None
        if len(self._told) >= _MOST:
            self._told.clear()
        self._told[key] = (kind, at)
        name = f"XID {code}" if code.isdigit() else f"fault {code}"
        pairs = {
            "hw.id": device.hw_id,
            "gpu": device.index,
            "code": code,
            "vendor": self.vendor,
            "text": f"{name}, told by {self.exporter}",
            "source": "exporter",
            "count": count if count > 1 else None,
        }
        return Event("gpu.fault", at, dict(attributes(pairs)))

    def state(self) -> dict[str, object]:
        """Return what must outlive the agent, as JSON has it."""
        return {
            "last": dict(self._last),
            "counts": [[*key, value] for key, value in self._counts.items()],
            "present": [list(key) for key in self._present],
        }

    def restore(self, state: Mapping[str, object]) -> None:
        """Take back what `state` gave; anything that does not fit is left out."""
        last, counts, present = state.get("last"), state.get("counts"), state.get("present")
        for hw_id, value in last.items() if isinstance(last, dict) else ():
            if isinstance(value, int | float):
                self._last[str(hw_id)] = float(value)
                self._started.add(str(hw_id))
        for entry in counts if isinstance(counts, list) else ():
            if isinstance(entry, list) and len(entry) == 3 and isinstance(entry[2], int | float):
                self._counts[str(entry[0]), str(entry[1])] = float(entry[2])
                self._started.add(str(entry[0]))
        for entry in present if isinstance(present, list) else ():
            if isinstance(entry, list) and len(entry) == 2:
                self._present[str(entry[0]), str(entry[1])] = _Present()
                self._started.add(str(entry[0]))
